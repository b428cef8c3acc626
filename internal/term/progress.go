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
)

// Progress is a bar on a terminal, elsewhere a log line every 10 s.
type Progress struct {
	w     io.Writer
	Log   *slog.Logger // nil on a terminal
	begun time.Time

	mu   sync.Mutex
	bar  *progressbar.ProgressBar
	told time.Time
}

// New returns a Progress that shows nothing yet, or ever if quiet is set.
func New(w io.Writer, quiet bool) *Progress {
	if quiet {
		w = io.Discard
	}
	p := &Progress{w: w, begun: time.Now(), told: time.Now()}
	if !isTerminal(w) {
		p.Log = slog.New(slog.NewTextHandler(w, nil))
	}
	return p
}

func (p *Progress) newBar(total int, options ...progressbar.Option) {
	p.bar = progressbar.NewOptions(total, append(options, progressbar.OptionSetWriter(p.w), progressbar.OptionSetWidth(24),
		progressbar.OptionSetElapsedTime(true), progressbar.OptionThrottle(redraw/2), progressbar.OptionClearOnFinish())...)
}

// Busy says what is done, for work of unknown length, and counts seconds on a terminal.
func (p *Progress) Busy(what string) {
	if p.Log != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		p.newBar(-1)
	}
	p.bar.Describe(what)
}

// At shows that done of total parts are done, with the text what.
func (p *Progress) At(done, total int, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Log != nil {
		if time.Since(p.told) >= logEvery {
			p.told = time.Now()
			p.Log.Info(what, "done", done, "of", total)
		}
		return
	}
	if p.bar == nil {
		if time.Since(p.begun) < redraw {
			return
		}
		p.newBar(total, progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true))
	}
	p.bar.ChangeMax(total)
	p.bar.Describe(beside(what, widthOf(p.w)))
	_ = p.bar.Set(done)
}

// counted are the columns that the share, the counts and the times of a bar take.
const counted = 40

// beside is the text that fits beside the bar: a line that wraps is not cleared.
func beside(what string, width int) string { return wrap(what, max(8, width-counted))[0] }

// Say writes a line that stays, above the bar.
func (p *Progress) Say(line string) {
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

// Close removes what is drawn. It may be called again, and so may the others.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
}
