package nvidia

import (
	"context"
	"sync"
	"time"
)

// Peak is what one GPU came to while it was watched.
type Peak struct {
	GPU
	Most int64   // bytes, the highest memory use seen
	Busy float64 // per cent, mean utilisation; −1 if the driver does not tell
}

// Watcher samples the GPUs of this machine while a trial runs.
type Watcher struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	peaks  []Peak
	counts []int // samples behind Busy
}

// interval between samples. A call of nvidia-smi takes some tens of
// milliseconds of one core, so one a second costs little.
const interval = time.Second

// Watch begins to sample; the first sample is taken before it returns. It
// returns the error of [List] if there is nothing to watch.
func Watch(ctx context.Context) (*Watcher, error) {
	gpus, err := List(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &Watcher{cancel: cancel}
	w.add(gpus)
	w.done.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// One sample missed is no reason to stop looking.
				if gpus, err := List(ctx); err == nil {
					w.add(gpus)
				}
			}
		}
	})
	return w, nil
}

// Stop ends the sampling and returns what each GPU came to.
func (w *Watcher) Stop() []Peak {
	w.cancel()
	w.done.Wait()
	return w.peaks
}

// add takes in one sample of every GPU.
func (w *Watcher) add(gpus []GPU) {
	for _, g := range gpus {
		i := w.find(g)
		p := &w.peaks[i]
		p.Most = max(p.Most, g.Used)
		if g.Utilization < 0 {
			continue
		}
		w.counts[i]++
		if w.counts[i] == 1 {
			p.Busy = 0
		}
		p.Busy += (g.Utilization - p.Busy) / float64(w.counts[i])
	}
}

// find returns the place of a GPU, which it makes if the GPU is new.
func (w *Watcher) find(g GPU) int {
	for i := range w.peaks {
		if w.peaks[i].UUID == g.UUID && w.peaks[i].Index == g.Index {
			return i
		}
	}
	w.peaks = append(w.peaks, Peak{GPU: g, Busy: -1})
	w.counts = append(w.counts, 0)
	return len(w.peaks) - 1
}
