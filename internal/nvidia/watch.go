package nvidia

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Peak is the use of one GPU while it was sampled.
type Peak struct {
	GPU          // as of the first sample
	Most int64   // highest memory use of a sample, bytes
	Busy float64 // mean utilisation, per cent; −1 if the driver does not report it
}

// interval between samples: nvidia-smi takes tens of milliseconds of one core.
const interval = time.Second

// Watch samples the GPUs of this machine every second until stop or the end of
// ctx. It takes the first sample before it returns, and returns its error
// ([List]). stop ends the sampling and returns the use of each GPU.
func Watch(ctx context.Context) (stop func() []Peak, err error) {
	gpus, err := List(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var s samples
	s.add(gpus)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.Tick(interval)
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick:
				// A failed sample is left out.
				if gpus, err := List(ctx); err == nil {
					s.add(gpus)
				}
			}
		}
	})
	return func() []Peak {
		cancel()
		done.Wait()
		return s.peaks
	}, nil
}

type samples struct {
	peaks  []Peak
	counts []float64 // samples behind Busy
}

func (s *samples) add(gpus []GPU) {
	for _, g := range gpus {
		i := slices.IndexFunc(s.peaks, func(p Peak) bool { return p.UUID == g.UUID && p.Index == g.Index })
		if i < 0 {
			i = len(s.peaks)
			s.peaks, s.counts = append(s.peaks, Peak{GPU: g, Busy: -1}), append(s.counts, 0)
		}
		p := &s.peaks[i]
		p.Most = max(p.Most, g.Used)
		if g.Utilization >= 0 {
			p.Busy = (max(p.Busy, 0)*s.counts[i] + g.Utilization) / (s.counts[i] + 1)
			s.counts[i]++
		}
	}
}
