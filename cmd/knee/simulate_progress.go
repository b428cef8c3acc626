package main

import (
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// shareBar shows how far a long computation is, and when it will be done: a
// bar on a terminal, a log line every ten seconds otherwise.
type shareBar struct {
	mu      sync.Mutex
	bar     *progressbar.ProgressBar
	line    func(share float64, left time.Duration)
	started time.Time
	told    time.Time
}

// newShareBar returns the progress that suits where stderr goes.
func (a *app) newShareBar(what string) *shareBar {
	b := &shareBar{started: time.Now(), told: time.Now()}
	switch {
	case a.quiet:
	case isTerminal(a.stderr):
		b.bar = progressbar.NewOptions(1000, progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetWidth(24),
			progressbar.OptionSetDescription(what), progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(redraw), progressbar.OptionClearOnFinish())
	default:
		log := a.logger()
		b.line = func(share float64, left time.Duration) {
			log.Info(what, "done", percent(share)[1:], "left", left.Round(time.Second))
		}
	}
	return b
}

// set tells how far it is, from 0 to 1.
func (b *shareBar) set(share float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.bar != nil:
		_ = b.bar.Set(int(1000 * share))
	case b.line != nil && time.Since(b.told) > 10*time.Second && share > 0:
		b.told = time.Now()
		b.line(share, time.Duration(float64(time.Since(b.started))*(1-share)/share))
	}
}

func (b *shareBar) close() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}
