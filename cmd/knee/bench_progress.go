package main

import (
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// searchProgress reports how many of many searches are done: a bar on a
// terminal, a log line every 10 s otherwise. end clears the bar.
func (a *app) searchProgress() (report func(done, total int, what string), end func()) {
	nothing := func() {}
	switch {
	case a.quiet:
		return nil, nothing
	case isTerminal(a.stderr):
		var bar *progressbar.ProgressBar
		var once sync.Once
		report = func(done, total int, what string) {
			once.Do(func() {
				bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetWidth(24),
					progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionSetElapsedTime(true),
					progressbar.OptionThrottle(redraw), progressbar.OptionClearOnFinish())
			})
			bar.Describe(what)
			_ = bar.Set(done)
		}
		return report, func() {
			if bar != nil {
				_ = bar.Clear()
			}
		}
	}
	log, last := a.logger(), time.Now()
	return func(done, total int, what string) {
		if time.Since(last) >= 10*time.Second {
			last = time.Now()
			log.Info("searching", "done", done, "of", total, "now", what)
		}
	}, nothing
}
