package nvidia

import (
	"context"
	"sync"
	"time"
)

// Peak is the use of one GPU while it was sampled.
type Peak struct {
	GPU          // as of the first sample
	Most int64   // highest memory use of a sample, bytes
	Busy float64 // mean utilisation, per cent; −1 if the driver does not report it
}

// Watcher samples the GPUs of this machine while a trial runs.
type Watcher struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	peaks  []Peak
	counts []int // samples behind Busy
}

// interval between samples. A call of nvidia-smi takes some tens of milliseconds
// of one core.
const interval = time.Second

// Watch samples every second until Stop or the end of ctx. It takes the first
// sample before it returns, and returns its error ([List]).
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
				// A failed sample is left out.
				if gpus, err := List(ctx); err == nil {
					w.add(gpus)
				}
			}
		}
	})
	return w, nil
}

// Stop ends the sampling and returns the use of each GPU.
func (w *Watcher) Stop() []Peak {
	w.cancel()
	w.done.Wait()
	return w.peaks
}

// add adds one sample of every GPU.
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

// find returns the index of a GPU in peaks, and appends a new GPU.
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
