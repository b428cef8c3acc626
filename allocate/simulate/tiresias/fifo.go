package tiresias

import "knee/allocate/simulate"

// runToCompletion is fifo, and with backfill fjf: jobs start in order of
// arrival and are never preempted. The first job that does not fit ends the
// scan, or is passed over with backfill; nothing is reserved for it.
func runToCompletion(waiting []*job, free int64, backfill bool, used func(simulate.Usage)) {
	all := free
	var pending, running []*job
	for len(waiting) > 0 || len(running) > 0 {
		now := int64(never)
		if len(waiting) > 0 {
			now = waiting[0].submit
		}
		for _, j := range running {
			now = min(now, j.end)
		}
		rest := running[:0]
		for _, j := range running {
			if j.end == now {
				free += j.gpus
			} else {
				rest = append(rest, j)
			}
		}
		running = rest
		for len(waiting) > 0 && waiting[0].submit == now {
			pending, waiting = append(pending, waiting[0]), waiting[1:]
		}
		left := pending[:0]
		for i, j := range pending {
			if free <= 0 || j.gpus > free && !backfill {
				left = append(left, pending[i:]...)
				break
			}
			if j.gpus > free {
				left = append(left, j)
				continue
			}
			free -= j.gpus
			j.begin(now)
			j.executed, j.end = j.duration, now+j.duration
			running = append(running, j)
		}
		pending = left
		if used != nil {
			used(simulate.Usage{At: float64(now), GPUs: int(all - free), Running: len(running), Waiting: len(pending)})
		}
	}
}
