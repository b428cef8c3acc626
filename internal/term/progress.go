package term

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// How often progress is shown.
const (
	redraw   = 200 * time.Millisecond // a bar, at most
	logEvery = 10 * time.Second       // a log line
	silence  = 2 * time.Second        // before the line that counts seconds is first drawn
)

// Progress shows the progress of a computation: on a terminal a bar, or a line that
// counts seconds; elsewhere a log line every 10 s. A nil Progress shows nothing.
type Progress struct {
	w     io.Writer
	log   *slog.Logger // nil on a terminal
	begun time.Time
	stop  chan struct{} // ends the line that counts seconds
	done  sync.WaitGroup

	mu    sync.Mutex
	what  string
	bar   *progressbar.ProgressBar
	told  time.Time
	drawn bool // the line that counts seconds
}

// New returns a Progress that shows nothing yet, or nil if quiet is set.
func New(w io.Writer, log *slog.Logger, quiet bool) *Progress {
	if quiet {
		return nil
	}
	p := &Progress{w: w, begun: time.Now(), told: time.Now()}
	if !Is(w) {
		p.log = log
	}
	return p
}

// Busy counts seconds, for work of unknown length.
func (p *Progress) Busy(what string) *Progress {
	if p == nil {
		return nil
	}
	p.what, p.stop = what, make(chan struct{})
	p.done.Go(p.tick)
	return p
}

// Now sets the text of Busy.
func (p *Progress) Now(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = what
}

func (p *Progress) tick() {
	every := time.Second
	if p.log != nil {
		every = logEvery
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case at := <-t.C:
			p.mu.Lock()
			took := at.Sub(p.begun).Round(time.Second)
			switch {
			case p.log != nil:
				p.log.Info(p.what, "seconds", took.Seconds())
			case took >= silence:
				fmt.Fprintf(p.w, clearLine+"%s, %s", p.what, took)
				p.drawn = true
			}
			p.mu.Unlock()
		}
	}
}

// At shows that done of total parts are done, with the text what.
func (p *Progress) At(done, total int, what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log != nil {
		if time.Since(p.told) >= logEvery {
			p.told = time.Now()
			p.log.Info(what, "done", done, "of", total)
		}
		return
	}
	if p.bar == nil {
		if time.Since(p.begun) < redraw {
			return
		}
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(p.w), progressbar.OptionSetWidth(24), progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true), progressbar.OptionSetElapsedTime(true), progressbar.OptionThrottle(redraw/2), progressbar.OptionClearOnFinish())
	}
	p.bar.ChangeMax(total)
	p.bar.Describe(beside(what, Width(p.w)))
	_ = p.bar.Set(done)
}

// counted are the columns that the share, the counts and the times of a bar take.
const counted = 40

// beside is as much of the text as a terminal's width leaves beside the bar, which
// narrows to nothing for it: a line that wraps is not cleared.
func beside(what string, width int) string { return Wrap(what, max(8, width-counted))[0] }

// Say writes a line that stays, above the bar.
func (p *Progress) Say(line string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.w, line)
	if p.bar != nil {
		_ = p.bar.RenderBlank()
	}
}

// Close removes what is drawn. It may be called again.
func (p *Progress) Close() {
	if p == nil {
		return
	}
	if p.stop != nil {
		close(p.stop)
		p.done.Wait()
		p.stop = nil
	}
	if p.drawn {
		fmt.Fprint(p.w, clearLine)
		p.drawn = false
	}
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// clearLine moves to the beginning of a terminal's line and clears the line.
const clearLine = "\r\x1b[K"
