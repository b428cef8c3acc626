package main

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// fitProgress reports how many of many fits are done, if they take long: a
// bar on a terminal, a log line every 10 s otherwise.
func (a *app) fitProgress() func(done, total int) {
	switch begun := time.Now(); {
	case a.quiet:
		return nil
	case isTerminal(a.stderr):
		var bar *progressbar.ProgressBar
		return func(done, total int) {
			if bar == nil {
				if time.Since(begun) < patience {
					return
				}
				bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetWidth(24),
					progressbar.OptionSetDescription("fits"), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true),
					progressbar.OptionThrottle(redraw), progressbar.OptionClearOnFinish())
			}
			_ = bar.Set(done)
		}
	default:
		log, last := a.logger(), begun
		return func(done, total int) {
			if time.Since(last) >= 10*time.Second {
				last = time.Now()
				log.Info("fitting", "done", done, "of", total)
			}
		}
	}
}
