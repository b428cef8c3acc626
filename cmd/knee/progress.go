package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"knee/data"
	"knee/profile"
)

// progress shows how far a study is: a bar on a terminal, log lines
// otherwise. close ends the bar.
type progress interface {
	event(profile.Event)
	close()
}

// newProgress returns the progress that suits where stderr goes.
func (a *app) newProgress() progress {
	switch {
	case a.quiet:
		return silent{}
	case isTerminal(a.stderr):
		return &bar{stderr: a.stderr}
	}
	return &logLines{log: a.logger(), every: 10 * time.Second}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

type silent struct{}

func (silent) event(profile.Event) {}
func (silent) close()              {}

// bar draws a progress bar with the time to go and the money spent.
type bar struct {
	stderr io.Writer
	bar    *progressbar.ProgressBar
	mu     sync.Mutex
	drawn  time.Time
}

// redraw is how often the bar is drawn at most while nothing happens but
// steps, of which there can be thousands a second.
const redraw = 200 * time.Millisecond

func (b *bar) event(e profile.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.Kind == profile.TrialStepped && time.Since(b.drawn) < redraw {
		return
	}
	b.drawn = time.Now()
	p := e.Progress
	if b.bar == nil {
		b.bar = progressbar.NewOptions(p.Total, progressbar.OptionSetWriter(b.stderr), progressbar.OptionSetWidth(24),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionSetElapsedTime(true),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	}
	switch e.Kind {
	case profile.TrialStarted:
		if e.Suggestion.Remeasure {
			_ = b.bar.Clear()
			fmt.Fprintln(b.stderr, "  "+e.Suggestion.Reason)
		}
		b.bar.Describe(fmt.Sprintf("%.36s%s", e.Trial.Config, spent(p)))
	case profile.TrialEnded:
		_ = b.bar.Clear()
		fmt.Fprintln(b.stderr, "  "+trialLine(e, configWidth))
		_ = b.bar.Set(p.Done)
	default:
		if what := trialNews(e); what != "" {
			_ = b.bar.Clear()
			fmt.Fprintln(b.stderr, "  "+what)
		}
	}
	_ = b.bar.RenderBlank()
}

func (b *bar) close() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}

func spent(p profile.Progress) string {
	if p.Spent == 0 {
		return ""
	}
	return ", " + dollars(p.Spent)
}

// configWidth is how wide a configuration is in a list of trials on a
// terminal: what of 80 columns the result leaves.
const configWidth = 36

// trialLine says in one line what a trial yielded. The configuration is padded
// to a width, so that results stand below each other; to none in a log.
func trialLine(e profile.Event, width int) string {
	m := e.Measurement
	config := m.Config.String()
	config += strings.Repeat(" ", max(0, width-utf8.RuneCountInString(config)))
	if m.Status != data.OK {
		return fmt.Sprintf("%s  %s: %s", config, m.Status, m.Error)
	}
	line := fmt.Sprintf("%s  %s/step ± %s", config, seconds(m.StepTime), seconds(2*m.StepTimeSE))
	if t := m.Throughput(); t > 0 {
		line += fmt.Sprintf(", %s samples/s", number(t))
	}
	if e.Queued > 0 {
		line += fmt.Sprintf(", after %s in the queue", e.Queued.Round(time.Second))
	}
	return line
}

// trialNews says in one line what happened to a trial on its way or to the
// record of the study, empty if that is nothing to tell.
func trialNews(e profile.Event) string {
	switch e.Kind {
	case profile.TrialRetried:
		return fmt.Sprintf("%s: %s; trying again", e.Trial.Config, e.Measurement.Error)
	case profile.TrialAdopted:
		return fmt.Sprintf("trial %d, %s: %s", e.Trial.ID, e.Trial.Config, e.Suggestion.Reason)
	case profile.TrialTaken:
		return fmt.Sprintf("trial %d, %s: another profile has taken it over", e.Trial.ID, e.Trial.Config)
	case profile.TrialQueued:
		return fmt.Sprintf("trial %d, %s: submitted as %s", e.Trial.ID, e.Trial.Config, e.Trial.Handle)
	case profile.TrialQuiet:
		where := ""
		if e.Trial.Log != "" {
			where = "; what it prints is in " + e.Trial.Log
		}
		return fmt.Sprintf("trial %d, %s: no step seen for %s%s", e.Trial.ID, e.Trial.Config, e.Quiet, where)
	case profile.StorageLost:
		return fmt.Sprintf("%v; trying again, what is measured meanwhile is kept", e.Err)
	case profile.StorageBack:
		return "the database answers again"
	}
	return ""
}

// logLines writes one line per trial, and while one runs a sign of life.
type logLines struct {
	log   *slog.Logger
	every time.Duration
	mu    sync.Mutex
	last  time.Time
}

func (l *logLines) event(e profile.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Kind {
	case profile.TrialStarted:
		l.last = time.Now()
		l.log.Info("trial started", "trial", e.Trial.ID, "config", e.Trial.Config.String(), "why", strings.TrimPrefix(e.Suggestion.Reason, e.Trial.Config.String()+": "))
	case profile.TrialStepped:
		if time.Since(l.last) >= l.every {
			l.last = time.Now()
			l.log.Info("measuring", "trial", e.Trial.ID, "steps", e.Steps, "done", e.Progress.Done, "of", e.Progress.Total)
		}
	case profile.TrialRetried:
		l.log.Warn("trial failed, trying again", "trial", e.Trial.ID, "error", e.Measurement.Error)
	case profile.StorageLost:
		l.log.Warn("storage lost", "what", trialNews(e))
	case profile.TrialEnded:
		l.log.Info("trial ended", "trial", e.Trial.ID, "result", trialLine(e, 0), "done", e.Progress.Done, "of", e.Progress.Total, "spent", dollars(e.Progress.Spent))
	default:
		if what := trialNews(e); what != "" {
			l.log.Info(logNames[e.Kind], "what", what)
		}
	}
}

// logNames names the lines of a log.
var logNames = map[profile.EventKind]string{
	profile.TrialAdopted: "trial taken over", profile.TrialTaken: "trial given up", profile.TrialQueued: "trial submitted",
	profile.TrialQuiet: "no step yet", profile.StorageBack: "storage back",
}

func (l *logLines) close() {}
