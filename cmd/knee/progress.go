package main

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/rivo/uniseg"

	"knee/data"
	"knee/internal/term"
	"knee/profile"
)

func (a *app) progress() *term.Progress { return term.New(a.stderr, a.logger(), a.quiet) }

// trialProgress shows a running profile: on a terminal a bar with the ended
// trials above it, else a log line per trial.
type trialProgress struct {
	bar  *term.Progress
	log  *slog.Logger // nil on a terminal
	mu   sync.Mutex
	last time.Time
}

func (a *app) newTrialProgress() *trialProgress {
	p := &trialProgress{bar: a.progress()}
	if !term.Is(a.stderr) {
		p.log = a.logger()
	}
	return p
}

func (p *trialProgress) event(e profile.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log != nil {
		p.write(e)
		return
	}
	switch e.Kind {
	case profile.TrialStarted:
		if e.Suggestion.Remeasure {
			p.bar.Say("  " + e.Suggestion.Reason)
		}
	case profile.TrialEnded:
		p.bar.Say("  " + trialLine(e, configWidth))
	default:
		if what := trialNews(e); what != "" {
			p.bar.Say("  " + what)
		}
	}
	p.bar.At(e.Progress.Done, e.Progress.Total, fmt.Sprintf("%.36s%s", e.Trial.Config, spent(e.Progress)))
}

func spent(p profile.Progress) string {
	if p.Spent == 0 {
		return ""
	}
	return ", " + dollars(p.Spent)
}

// configWidth is the width of a configuration in a list of trials: of 80 columns,
// those that the result leaves free.
const configWidth = 36

// trialLine is the result of a trial in one line, the configuration padded to
// width so that results line up; 0 in a log.
func trialLine(e profile.Event, width int) string {
	m := e.Measurement
	config := m.Config.String()
	config += strings.Repeat(" ", max(0, width-uniseg.StringWidth(config)))
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

// trialNews is an event of a running trial or of the study's storage in one line,
// empty for events that are not shown.
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
		return fmt.Sprintf("trial %d, %s: no step seen for %s%s%s", e.Trial.ID, e.Trial.Config, e.Quiet, e.Unread, where)
	case profile.StorageLost:
		return fmt.Sprintf("%v; trying again, what is measured meanwhile is kept", e.Err)
	case profile.StorageBack:
		return "the database answers again"
	}
	return ""
}

// write writes one line per trial, and regular lines while one runs.
func (p *trialProgress) write(e profile.Event) {
	switch e.Kind {
	case profile.TrialStarted:
		p.last = time.Now()
		p.log.Info("trial started", "trial", e.Trial.ID, "config", e.Trial.Config.String(), "why", strings.TrimPrefix(e.Suggestion.Reason, e.Trial.Config.String()+": "))
	case profile.TrialStepped:
		if time.Since(p.last) >= signOfLife {
			p.last = time.Now()
			p.log.Info("measuring", "trial", e.Trial.ID, "steps", e.Steps, "done", e.Progress.Done, "of", e.Progress.Total)
		}
	case profile.TrialRetried:
		p.log.Warn("trial failed, trying again", "trial", e.Trial.ID, "error", e.Measurement.Error)
	case profile.StorageLost:
		p.log.Warn("storage lost", "what", trialNews(e))
	case profile.TrialEnded:
		p.log.Info("trial ended", "trial", e.Trial.ID, "result", trialLine(e, 0), "done", e.Progress.Done, "of", e.Progress.Total, "spent", dollars(e.Progress.Spent))
	default:
		if what := trialNews(e); what != "" {
			p.log.Info(logNames[e.Kind], "what", what)
		}
	}
}

// signOfLife is the time between log lines of a running trial.
const signOfLife = 10 * time.Second

// logNames names the lines of a log.
var logNames = map[profile.EventKind]string{
	profile.TrialAdopted: "trial taken over", profile.TrialTaken: "trial given up", profile.TrialQueued: "trial submitted",
	profile.TrialQuiet: "no step yet", profile.StorageBack: "storage back",
}
