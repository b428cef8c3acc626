package main

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"knee/data"
	"knee/internal/term"
	"knee/profile"
)

// trialProgress shows a running profile: on a terminal a bar with the ended
// trials above it, else a log line per event, and per 10 s of a trial.
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

// signOfLife is the time between log lines of a running trial.
const signOfLife = 10 * time.Second

// configWidth is the width of a configuration in a list of trials: of 80 columns,
// those that the result leaves free.
const configWidth = 36

func (p *trialProgress) event(e profile.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log == nil {
		name, line := lineOf(e, configWidth)
		if name != "" && e.Kind != profile.TrialStepped && (e.Kind != profile.TrialStarted || e.Suggestion.Remeasure) {
			p.bar.Say("  " + line)
		}
		p.bar.At(e.Progress.Done, e.Progress.Total, fmt.Sprintf("%.36s, %s", e.Trial.Config, dollars(e.Progress.Spent)))
		return
	}
	name, line := lineOf(e, 0)
	if name == "" || e.Kind == profile.TrialStepped && time.Since(p.last) < signOfLife {
		return
	}
	p.last = time.Now()
	p.log.Info(name, "trial", e.Trial.ID, "what", line, "done", e.Progress.Done, "of", e.Progress.Total, "spent", dollars(e.Progress.Spent))
}

// lineOf names an event and puts it into one line, the configuration of a result
// padded to width so that results line up. Both are empty for events that are not
// shown.
func lineOf(e profile.Event, width int) (name, line string) {
	trial := fmt.Sprintf("trial %d, %s: ", e.Trial.ID, e.Trial.Config)
	switch e.Kind {
	case profile.TrialStarted:
		config := e.Trial.Config.String() + ": "
		return "trial started", config + strings.TrimPrefix(e.Suggestion.Reason, config)
	case profile.TrialStepped:
		return "measuring", trial + fmt.Sprintf("%d steps", e.Steps)
	case profile.TrialRetried:
		return "trial failed", trial + e.Measurement.Error + "; trying again"
	case profile.TrialEnded:
		return "trial ended", fmt.Sprintf("%-*s  ", width, e.Measurement.Config) + resultOf(e)
	case profile.TrialAdopted:
		return "trial taken over", trial + e.Suggestion.Reason
	case profile.TrialTaken:
		return "trial given up", trial + "another profile has taken it over"
	case profile.TrialQueued:
		return "trial submitted", trial + "submitted as " + e.Trial.Handle
	case profile.TrialQuiet:
		if line = trial + fmt.Sprintf("no step seen for %s%s", e.Quiet, e.Unread); e.Trial.Log != "" {
			line += "; what it prints is in " + e.Trial.Log
		}
		return "no step yet", line
	case profile.StorageLost:
		return "storage lost", fmt.Sprintf("%v; trying again, what is measured meanwhile is kept", e.Err)
	case profile.StorageBack:
		return "storage back", "the database answers again"
	}
	return "", ""
}

// resultOf is the result of a trial.
func resultOf(e profile.Event) string {
	m := e.Measurement
	if m.Status != data.OK {
		return fmt.Sprintf("%s: %s", m.Status, m.Error)
	}
	result := fmt.Sprintf("%s/step ± %s", seconds(m.StepTime), seconds(2*m.StepTimeSE))
	if t := m.Throughput(); t > 0 {
		result += fmt.Sprintf(", %s samples/s", number(t))
	}
	if e.Queued > 0 {
		result += fmt.Sprintf(", after %s in the queue", e.Queued.Round(time.Second))
	}
	return result
}
