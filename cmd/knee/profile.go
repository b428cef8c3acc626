package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"knee/bayesopt"
	"knee/data"
	"knee/fit/gradnoise"
	"knee/internal/term"
	"knee/profile"
	"knee/profile/space"
	"knee/profile/store"
)

func newProfile(a *app) *cobra.Command {
	var dir, other string
	var how searchFlags
	var restart bool
	var lease time.Duration
	cmd := answering("profile STUDY.yaml", func(cmd *cobra.Command, args []string, out format) error {
		study, err := data.Load(args[0], data.ReadStudy)
		if err != nil {
			return err
		}
		if lease <= 0 {
			return usageError("--lease: found %s, want a time > 0 such as 1m", lease)
		}
		if err := how.load(); err != nil {
			return err
		}
		if other != "" {
			return a.profileBeside(cmd.Context(), study, other, dir, out)
		}
		if candidates, err := space.Candidates(study); err == nil { // else the run says why not
			doubts := []string{space.Contention(study, candidates, runtime.NumCPU()), space.Untold(study, candidates)}
			for _, c := range candidates {
				if len(study.PricePerHour) > 0 && study.PricePerHour[c.GPUType] == 0 {
					doubts = append(doubts, fmt.Sprintf("price_per_hour: no price of %s, whose trials count as free", c.GPUType))
					break
				}
			}
			for _, what := range doubts {
				if what != "" {
					a.note("warning: %s", what)
				}
			}
		}
		files := profile.FilesBeside(args[0], dir)
		res, err := a.measure(cmd.Context(), study, files, profile.Settings{Search: how.Search, Restart: restart, Lease: lease})
		if err != nil {
			return err
		}
		a.checkEfficiency(study, res.Measurements, res.Curves)
		a.note("%s: %s in %s", res.Stopped, english.Plural(len(res.Measurements), "measurement", ""), files.Measurements)
		if res.Drained {
			return fmt.Errorf("%w: run the same command again to continue", errInterrupted)
		}
		if out == "csv" {
			err = data.WriteMeasurements(a.stdout, res.Measurements)
		} else {
			err = out.print(a.stdout, res.Measurements, measurementTable(res.Measurements))
		}
		if err != nil {
			return err
		}
		return anySuccess(res.Measurements, files.Logs)
	})
	how.add(cmd)
	cmd.Flags().StringVar(&dir, "dir", "", "folder for results (default: the study's)")
	cmd.Flags().StringVar(&other, "beside", "", "study of another job, to run beside this one")
	cmd.Flags().BoolVar(&restart, "restart", false, "begin anew: set the journal aside and cancel its running trials")
	cmd.Flags().DurationVar(&lease, "lease", store.DefaultLease, "shared study: silence after which trials are taken over")
	return cmd
}

// anySuccess fails if not one trial succeeded, with the reason of the last.
func anySuccess(ms []data.Measurement, logs string) error {
	if len(ms) == 0 || slices.ContainsFunc(ms, func(m data.Measurement) bool { return m.Status == data.OK }) {
		return nil
	}
	last := ms[len(ms)-1]
	return fmt.Errorf("none of %d trials succeeded; the last (%s): %s: %s; their output is in %s", len(ms), last.Config, last.Status, last.Error, logs)
}

func (a *app) settings(s profile.Settings) (profile.Settings, error) {
	var err error
	if s.Self, err = os.Executable(); err != nil {
		return s, fmt.Errorf("find this program, to start its trainer and watchdog: %w", err)
	}
	s.Drain = a.interrupts.drainable()
	return s, nil
}

func (a *app) measure(ctx context.Context, study *data.Study, files profile.Files, o profile.Settings) (profile.Result, error) {
	o, err := a.settings(o)
	if err != nil {
		return profile.Result{}, err
	}
	show := &trialProgress{bar: a.progress()}
	defer show.bar.Close()
	o.Notify = func(e profile.Event) {
		switch e.Kind {
		case profile.StudyOpened:
			a.warn(e.Snapshot.Warnings...)
			if n := len(e.Snapshot.Results); n > 0 {
				a.note("continuing %s: %s measured before, %d cut short", store.Name(study, files.Journal), english.Plural(n, "trial", ""), len(e.Snapshot.Interrupted))
			}
			if n := len(e.Snapshot.Submitted); n > 0 {
				a.note("following %s submitted before", english.Plural(n, "trial", ""))
			}
		case profile.Warned:
			a.warn(e.Warning)
		default:
			show.event(e)
		}
	}
	res, err := profile.Run(ctx, study, files, o)
	show.bar.Close()
	a.warn(res.Warnings...)
	return res, err
}

func (a *app) profileBeside(ctx context.Context, study *data.Study, path, dir string, out format) error {
	other, err := data.Load(path, data.ReadStudy)
	if err != nil {
		return err
	}
	settings, err := a.settings(profile.Settings{})
	if err != nil {
		return err
	}
	rows, file, err := profile.Beside(ctx, study, other, dir, settings)
	if err != nil {
		return err
	}
	a.note("%d rows in %s", len(rows), file)
	return out.print(a.stdout, rows, tableOf(rows, "application,beside,gpu_type,workers,share,step_time_s,alone_step_time_s"))
}

func measurementTable(ms []data.Measurement) *table {
	t := newTable("config,status,step_time ± 2 se,samples/s,start,took,error")
	for _, m := range ms {
		if m.Status == data.OK {
			t.add(m.Config, m.Status, seconds(m.StepTime)+" ± "+seconds(2*m.StepTimeSE), orEmpty(m.Throughput()), seconds(m.StartSeconds), seconds(m.Wall), m.Error)
		} else {
			t.add(m.Config, m.Status, "", "", "", seconds(m.Wall), m.Error)
		}
	}
	return t
}

// trialProgress shows ended trials above a bar, or log lines without a terminal.
type trialProgress struct {
	bar  *term.Progress
	mu   sync.Mutex
	last time.Time
}

const signOfLife = 10 * time.Second

// configWidth is the width of a configuration in a list of trials, of 80 columns.
const configWidth = 36

func (p *trialProgress) event(e profile.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar.Log == nil {
		name, line := lineOf(e, configWidth)
		if name != "" && e.Kind != profile.TrialStepped && (e.Kind != profile.TrialStarted || e.Suggestion.Remeasure) {
			p.bar.Say("  " + line)
		}
		what := e.Trial.Config.String()
		if e.Progress.Spent > 0 { // with a price
			what = dollars(e.Progress.Spent) + ", " + what
		}
		p.bar.At(e.Progress.Done, e.Progress.Total, what)
		return
	}
	name, line := lineOf(e, 0)
	if name == "" || e.Kind == profile.TrialStepped && time.Since(p.last) < signOfLife {
		return
	}
	p.last = time.Now()
	log := p.bar.Log.With("trial", e.Trial.ID, "what", line, "done", e.Progress.Done, "of", e.Progress.Total)
	if e.Progress.Spent > 0 {
		log = log.With("spent", dollars(e.Progress.Spent))
	}
	log.Info(name)
}

// lineOf names an event and puts it into one line, the configuration of a result padded
// to width. Both are empty for events that are not shown.
func lineOf(e profile.Event, width int) (name, line string) {
	trial := fmt.Sprintf("trial %d, %s: ", e.Trial.ID, e.Trial.Config)
	switch e.Kind {
	case profile.TrialStarted:
		return "trial started", e.Trial.Config.String() + ": " + e.Suggestion.Reason
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

// suggestion is one element of the JSON that suggest prints.
type suggestion struct {
	Config    any     `json:"config,omitempty"`
	Expected  float64 `json:"expected,omitempty"`
	Unit      string  `json:"unit,omitempty"` // of expected, lo and hi
	Lo        float64 `json:"lo,omitempty"`
	Hi        float64 `json:"hi,omitempty"`
	PFeasible float64 `json:"p_feasible,omitempty"`
	Cost      float64 `json:"cost_usd,omitempty"`
	PBetter   float64 `json:"p_better,omitempty"` // that something is better than the best by the target
	Remeasure bool    `json:"remeasure,omitempty"`
	Choice    any     `json:"choice,omitempty"` // the best so far, with objective.at there
	Stop      bool    `json:"stop,omitempty"`
	Reason    string  `json:"reason"`
}

func newSuggest(a *app) *cobra.Command {
	var history, curve string
	var how searchFlags
	n := 1
	cmd := answering("suggest STUDY.yaml", func(_ *cobra.Command, args []string, out format) error {
		study, err := data.Load(args[0], data.ReadStudy)
		if err != nil {
			return err
		}
		var ms []data.Measurement
		if history != "" {
			if ms, err = a.rows(data.Import{Given: map[string]string{"job": study.Job}}, study.Job, history); err != nil {
				return err
			}
		}
		points, err := a.curves(curve)
		if err != nil {
			return err
		}
		if err := how.load(); err != nil {
			return err
		}
		ms, strangers, err := profile.Recognise(study, ms)
		if err != nil {
			return err
		}
		if strangers > 0 {
			a.warn(fmt.Sprintf("%d of the %s of %s are of no configuration of the study: they inform the search, but none counts as measured by them", strangers, english.Plural(len(ms), "measurement", ""), history))
		}
		a.checkEfficiency(study, ms, points)
		next, err := profile.Suggest(study, how.Search, ms, points, n)
		if err != nil {
			return err
		}
		if over := study.Budget.Spent(ms, 0, 0); over != "" {
			a.warn(over + ": knee profile would end here")
		}
		if len(next) < n && !next[0].Stop {
			a.note("%d of %d: measure these first, no other configuration is worth a trial before", len(next), n)
		}
		return printSuggestions(a, out, unit(study), next)
	})
	fileFlag(cmd, &history, "history", "measurements so far (CSV)", "csv", "gz")
	fileFlag(cmd, &curve, "curve", "training curves, for the objective goodput", "csv", "gz")
	how.add(cmd)
	cmd.Flags().VarP(numberFlag[int]{&n, atLeast(1)}, "number", "n", "how many to suggest")
	return cmd
}

// checkEfficiency warns that an objective was searched as if large batches cost nothing.
func (a *app) checkEfficiency(s *data.Study, ms []data.Measurement, points []data.CurvePoint) {
	o := bayesopt.ObjectiveOf(s.Objective)
	if len(ms) == 0 || s.Launcher.Replay != nil || o != bayesopt.Goodput && o != bayesopt.CostToTarget {
		return
	}
	candidates, err := space.Candidates(s)
	other := func(c data.Config) bool { return c.GlobalBatch() != candidates[0].GlobalBatch() }
	if err != nil || !slices.ContainsFunc(candidates, other) {
		return
	}
	if _, err := gradnoise.Fit(points, s.Batch.Initial); err != nil {
		a.warn(fmt.Sprintf("objective %s: the statistical efficiency of a batch is not known and counts as 1, so the fastest batch counts as the best (%v)", o, err))
	}
}

func unit(s *data.Study) string {
	o := bayesopt.ObjectiveOf(s.Objective)
	if o == bayesopt.CostToTarget && s.Objective.Samples == 0 && s.Launcher.Replay == nil {
		return o.Unit() + " per sample"
	}
	return o.Unit()
}

func printSuggestions(a *app, out format, unit string, next []bayesopt.Suggestion) error {
	t := newTable("gpu_type,mode,placement,nodes,workers,ps,local_batch,accum_steps,expected,lo,hi,unit,p_feasible,cost_usd,reason",
		"config,expected,unit,p_feasible,cost_usd,reason")
	list := []suggestion{}
	var configs []data.Config
	for _, s := range next {
		var choice any
		if s.Choice.Workers > 0 {
			choice = s.Choice
		}
		if s.Stop {
			list = append(list, suggestion{Stop: true, Reason: s.Reason, Choice: choice})
			t.people.add("(stop)", "", "", "", "", s.Reason)
			if out == "csv" {
				a.note("%s", s.Reason)
			}
			continue
		}
		list = append(list, suggestion{Config: s.Config, Expected: s.Expected.Mean, Lo: s.Expected.Lo, Hi: s.Expected.Hi, Unit: unit,
			PFeasible: s.PFeasible, Cost: s.Cost, PBetter: s.Better, Remeasure: s.Remeasure, Choice: choice, Reason: s.Reason})
		cost := any("") // without a price
		if s.Cost > 0 {
			cost = dollars(s.Cost)
		}
		t.people.add(s.Config, between(s.Expected, number), unit, s.PFeasible, cost, s.Reason)
		c, e := s.Config, s.Expected
		t.add(c.GPUType, c.ModeOrDefault(), c.Placement.String(), c.NodeCount(), c.Workers, c.PS, orEmpty(c.LocalBatch), c.AccumSteps,
			orEmpty(e.Mean), orEmpty(e.Lo), orEmpty(e.Hi), unit, s.PFeasible, orEmpty(s.Cost), s.Reason)
		configs = append(configs, c)
	}
	t.addKnobs(configs, slices.ContainsFunc(configs, func(c data.Config) bool { return !c.Plain() }))
	return out.print(a.stdout, list, t)
}
