package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/gocarina/gocsv"

	"knee/data"
	"knee/profile/launch"
	"knee/profile/meter"
	"knee/profile/store"
)

// Causes of cancelling a trial.
var (
	errEnough  = errors.New("measured well enough")
	errHung    = errors.New("no step")
	errDrained = errors.New("stopped by the user while it waited for nodes")
)

// maxPreempted is how often a trial may be preempted before it is given up.
const maxPreempted = 20

type outcome struct {
	trial       launch.Trial
	measurement data.Measurement
	curve       []data.CurvePoint
	began       time.Time     // when it started to run
	ran         time.Duration // since then
	queued      time.Duration // waiting for nodes
	preempted   bool          // by the engine
	taken       bool          // another profiler has the trial now
	warnings    []warning     // about how it was measured
	err         error         // the launcher failed
}

// warning is one of a trial; those of several trials with one kind are said once.
type warning struct{ kind, text string }

// condensed returns the first warning of each kind, with the number of others.
func condensed(all []warning) (texts []string) {
	count, at := map[string]int{}, map[string]int{}
	for _, w := range all {
		if count[w.kind]++; w.kind == "" || count[w.kind] == 1 {
			at[w.kind] = len(texts)
			texts = append(texts, w.text)
		}
	}
	for kind, n := range count {
		if kind != "" && n > 1 {
			texts[at[kind]] += fmt.Sprintf(" (and %s)", english.Plural(n-1, "trial more", "trials more"))
		}
	}
	return texts
}

// measure runs a trial, again if it was preempted, or if it failed and retries remain. Wall
// and cost sum all attempts, without the time they waited for nodes.
func (r *Runner) measure(ctx context.Context, t launch.Trial) outcome {
	var began time.Time
	var ran, queued time.Duration
	var warnings []warning // of all attempts
	failed, preempted := 0, 0
	for {
		out := r.attempt(ctx, t)
		warnings = append(warnings, out.warnings...)
		out.warnings = warnings
		if began.IsZero() {
			began = out.began
		}
		ran += out.ran
		queued += out.queued
		out.queued = queued
		out.measurement.StartedAt = began.UTC().Truncate(time.Millisecond)
		out.measurement.Wall = ran.Seconds()
		again := false
		switch status := out.measurement.Status; {
		case out.preempted:
			preempted++
			again = preempted <= maxPreempted
		case status == data.Timeout && out.measurement.StepTime > 0: // slow; a retry would be too
		case status == data.Failed || status == data.Timeout:
			failed++
			again = failed <= r.Study.Trial.Retries
		}
		if !again || out.err != nil || ctx.Err() != nil {
			return out
		}
		if r.draining() {
			// The next run measures aborted trials, with all their retries.
			out.measurement.Status = data.Aborted
			out.measurement.Error = "stopped by the user before the retry: " + out.measurement.Error
			return out
		}
		r.notify(Event{Kind: TrialRetried, Trial: t, Measurement: out.measurement})
		t.Attempt++
		t.Handle = "" // of the attempt that ended
		t.Log = r.logPath(t)
	}
}

func (r *Runner) draining() bool {
	select {
	case <-r.Drain:
		return true
	default:
		return false
	}
}

func (r *Runner) logPath(t launch.Trial) string {
	if r.LogDir == "" {
		return ""
	}
	return filepath.Join(r.LogDir, fmt.Sprintf("trial-%03d-%d.log", t.ID, t.Attempt))
}

// attempt launches a trial once and meters it.
func (r *Runner) attempt(ctx context.Context, t launch.Trial) outcome {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timeout := cmp.Or(max(r.Study.Trial.Timeout, 0), math.MaxInt64)
	look := time.Tick(min(max(timeout/50, time.Millisecond), time.Second))
	obs, ended := make(chan launch.Observation, 256), make(chan error, 1)
	calls := make(chan func(), 16) // of the launcher, to run here
	q := &queueing{launched: time.Now(), followed: t.Handle != ""}
	if !q.followed {
		q.begun = q.launched
	}
	var peak, device float64 // bytes, measured by the launcher; written before it sends to ended
	followed := r.followed(t, q, calls)
	followed.Used = func(p, d float64) { peak, device = p, d }
	var away atomic.Int64 // when output could not be read, Unix ns
	followed.Away = func() { away.Store(time.Now().UnixNano()) }
	go func() { ended <- r.Launcher.Launch(ctx, followed, obs) }()

	m := meter.New(r.Study.Trial, r.Study.Metrics.Rank, t.Config)
	var first, told time.Time
	moved, quiet := time.Now(), false // when it last made a step or waited; the user was told that it makes none
	take := func(o launch.Observation) (enough bool) {
		if m.Observed() == 0 && o.OfStep() {
			first = o.At
		}
		if q.waiting() { // it runs, whether or not its launcher said so
			q.begun = time.Now()
		}
		before := m.Moved()
		if enough = (ctx.Err() == nil || !o.OfStep()) && m.Add(o); m.Moved() > before {
			moved = time.Now()
		}
		return enough
	}
	drain := r.Drain
	for {
		if q.waiting() {
			moved = time.Now() // time in the queue is not limited
			if r.draining() {
				cancel(errDrained)
			}
		}
		select {
		case call := <-calls:
			call()
		case <-drain:
			drain = nil
		case o := <-obs:
			if take(o) {
				cancel(errEnough)
			}
			if now := time.Now(); now.Sub(told) >= tellEvery {
				told = now
				r.notify(Event{Kind: TrialStepped, Trial: t, Steps: m.Observed()})
			}
		case now := <-look:
			if !quiet && m.Observed() == 0 && now.Sub(moved) >= quietAfter(timeout) {
				quiet = true
				r.notify(Event{Kind: TrialQuiet, Trial: t, Quiet: quietAfter(timeout), Unread: launch.Unread(t.Log)})
			}
			for late := len(obs); late > 0 && now.Sub(moved) >= timeout; late-- { // in time if this process is late
				if take(<-obs) {
					cancel(errEnough)
				}
			}
			if now.Sub(moved) >= timeout && now.UnixNano()-away.Load() >= int64(timeout) {
				cancel(errHung)
			}
		case err := <-ended:
			for len(calls) > 0 {
				(<-calls)()
			}
			for len(obs) > 0 {
				take(<-obs)
			}
			m.SeenOutside(peak, device)
			now, took := time.Now(), 0.0 // seconds by our clock; 0: an earlier run launched it
			if !q.followed {
				took = now.Sub(q.launched).Seconds()
			}
			out := r.conclude(t, m, took, err)
			if err := writeRanks(t, m.Ranks()); err != nil {
				out.warnings = append(out.warnings, warning{text: err.Error()})
			}
			out.began = cmp.Or(q.begun, q.launched)
			out.queued, out.ran = q.times(now)
			if !first.IsZero() && !q.followed {
				out.measurement.StartSeconds = max(first.Sub(out.began), 0).Seconds()
			}
			return out
		}
	}
}

// followed is a trial whose launcher's reports on waiting are sent to calls.
func (r *Runner) followed(t launch.Trial, q *queueing, calls chan<- func()) launch.Trial {
	out := t
	out.Submitted = func(handle string) error {
		if err := r.Storage.Submitted(t.ID, t.Attempt, handle); err != nil {
			return err
		}
		calls <- func() {
			q.wait()
			e := Event{Kind: TrialQueued, Trial: t}
			e.Trial.Handle = handle
			r.notify(e)
		}
		return nil
	}
	out.Waiting = func() { calls <- q.wait }
	out.Began = func(at time.Time) {
		calls <- func() {
			q.began(at)
			queued, _ := q.times(time.Now())
			r.notify(Event{Kind: TrialBegan, Trial: t, Queued: queued})
		}
	}
	return out
}

const tellEvery = 200 * time.Millisecond

// quietAfter is how long a trial may run without a step before the user is told: the study's
// metrics may not match its log, which should not show only at the timeout.
func quietAfter(timeout time.Duration) time.Duration { return min(30*time.Second, timeout/2) }

// conclude makes an outcome of what was read and how the launch ended; took 0: unknown.
func (r *Runner) conclude(t launch.Trial, m *meter.Meter, took float64, err error) outcome {
	out := outcome{trial: t, curve: m.Curve(t.ID), measurement: data.Measurement{Config: t.Config, PricePerHour: Price(r.Study, t.Config)}}
	end := &out.measurement
	end.Architecture = r.Study.Model
	var failure *launch.Failure
	warn := func(format string, a ...any) {
		out.warnings = append(out.warnings, warning{format, fmt.Sprintf("trial %d (%s): ", t.ID, t.Config) + fmt.Sprintf(format, a...)})
	}
	why, left, _ := strings.Cut(fmt.Sprint(err), "\n") // the launcher joins what it could not remove
	reading := m.Read()
	end.PeakMemory, end.GPUMemory = reading.PeakMemory, reading.DeviceMemory
	ended := err == nil || errors.Is(err, errEnough)
	switch {
	case ended && reading.Steps >= meter.FewestSteps:
		end.Status = data.OK
		end.StepTime, end.StepTimeSD, end.SyncTime, end.Steps = reading.StepTime, reading.SD, reading.SyncTime, reading.Steps
		end.StepTimeSE = reading.SE
		if reading.Hurried {
			warn("of its %d steps only %d were dropped as warm-up, not the %d of the study",
				reading.Steps+reading.Warmup, reading.Warmup, r.Study.Trial.Warmup)
		}
		if r.Study.Metrics.Pattern == "tqdm" && t.Config.AccumSteps > 0 {
			warn("a step of its progress bar counts as an optimizer step, although gradients are accumulated: if it is a batch, print knee's lines")
		}
		if reading.Told > 0 {
			warn("a step takes %.3g s by the arrival of its lines, which counts: the lines tell %.3g s", reading.StepTime, reading.Told)
		}
		if reading.SyncTime > reading.StepTime { // as of a busy machine's ps-async, where it is not of the same steps
			end.SyncTime = 0
			warn("its sync_time_s, %.3g s on average, is left out: a step takes %.3g s", reading.SyncTime, reading.StepTime)
		}
		if 2*reading.SE >= reading.StepTime {
			warn("its step time is less certain than it is long, %.3g s ± %.3g s of %d steps: measure for longer (trial.max_seconds)", reading.StepTime, 2*reading.SE, reading.Steps)
		}
		if end.Error = m.Contradiction(took); end.Error != "" {
			warn("%s", end.Error)
		}
	case ended:
		end.Status = data.Failed
		end.Error = fmt.Sprintf("it ended after %s, want at least %d after warm-up", english.Plural(m.Observed(), "step", ""), meter.FewestSteps)
	case errors.Is(err, errHung) && m.OutOfMemory() != "": // the other ranks wait for the one that died
		end.Status, end.Error = data.OOM, m.OutOfMemory()
	case errors.Is(err, errHung):
		end.Status = data.Timeout
		end.Error = fmt.Sprintf("no step for %s (after %s)", r.Study.Trial.Timeout, english.Plural(m.Observed(), "step", ""))
		end.Error += strings.TrimPrefix(why, errHung.Error()) // output in place of steps, added by the launcher
		if lengths := m.Lengths(); lengths > 2 {              // training and validation
			end.Error += fmt.Sprintf("; its progress bars are of %d lengths, of which one is metered: print knee's lines, or leave total_steps out of metrics.regex", lengths)
		}
		limit := r.Study.Trial.Timeout.Seconds()
		if m.Observed() > 0 && reading.Steps < meter.FewestSteps && m.Shortest() >= limit/2 && !math.IsInf(m.Shortest(), 1) { // it makes steps, each longer than the timeout
			end.StepTime = limit
			end.Error += "; a step takes longer than trial.timeout"
		}
	case errors.As(err, &failure):
		end.Status, end.Error, end.StepTime, out.preempted = failure.Status, failure.Detail, failure.Bound, failure.Preempted
	case errors.Is(err, errDrained):
		end.Status, end.Error = data.Aborted, errDrained.Error()
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrTaken):
		end.Status, end.Error = data.Aborted, "stopped by the user"
	default:
		end.Status, end.Error = data.Aborted, err.Error()
		out.err = fmt.Errorf("trial %d: %w", t.ID, err)
	}
	if left != "" && out.err == nil { // such as a job that the engine did not cancel
		out.warnings = append(out.warnings, warning{text: fmt.Sprintf("trial %d: %s", t.ID, strings.ReplaceAll(left, "\n", "; "))})
	}
	return out
}

// writeRanks writes the step times of several ranks beside the log, for knee check.
func writeRanks(t launch.Trial, ranks []meter.RankTime) error {
	if len(ranks) < 2 || t.Log == "" {
		return nil
	}
	path := strings.TrimSuffix(t.Log, filepath.Ext(t.Log)) + ".ranks.csv"
	return data.WriteFile(path, func(w io.Writer) error { return gocsv.Marshal(ranks, w) })
}

// queueing separates the time that a trial waits for nodes from the time it runs. The
// engine's clock may differ from ours: a start in the future becomes the present, one before
// the submission the launch.
type queueing struct {
	launched time.Time
	followed bool      // an earlier run had submitted it
	begun    time.Time // zero as long as it waits
}

// wait records that an engine has the trial.
func (q *queueing) wait() { q.begun = time.Time{} }

func (q *queueing) began(at time.Time) {
	if now := time.Now(); at.IsZero() || at.After(now) {
		at = now
	}
	if at.Before(q.launched) && !q.followed {
		at = q.launched
	}
	q.begun = at
}

func (q *queueing) waiting() bool { return q.begun.IsZero() }

// times returns how long the trial waited for nodes and how long it ran, up to now.
func (q *queueing) times(now time.Time) (queued, ran time.Duration) {
	begun := cmp.Or(q.begun, now)
	return max(begun.Sub(q.launched), 0), max(now.Sub(begun), 0)
}
