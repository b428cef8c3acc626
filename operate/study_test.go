package operate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/allocate/simulate/measured"
	"knee/data"
	"knee/fit"
	"knee/internal/bench"
	"knee/operate"
	"knee/operate/queue"
	"knee/operate/queuetest"
)

// The study: jobs as fast as six applications were measured (Pollux, on nodes
// of four T4) arrive at a queue of six such nodes. Models are fitted to four
// measurements of each application; what the jobs really do on any placement
// is from all of them, and every start of a job is up to a few per cent faster or
// slower. Runs differ only in who decides.
const (
	studyJobs    = 30
	studyLoad    = 0.8 // of the GPUs, if every job kept what it asks for
	studyRestart = 60 * time.Second
	studyTick    = 5 * time.Second
	studyNoise   = 0.03 // standard deviation of ln speed between starts
)

// trainee is a job of the study.
type trainee struct {
	id, app       string
	table         *measured.Table
	batch         float64 // samples per step
	requested     int
	most          int // workers that the batch is enough for
	steps, done   float64
	arrives, ends time.Time

	started time.Time // where it runs now
	speed   float64   // of this start, 1 is as measured
	told    time.Time
	known   []forecast
}

// forecast is the forecast of a turn for a job on its nodes.
type forecast struct {
	at      time.Time
	started time.Time
	finish  data.Estimate // s
}

// world is a scheduler whose jobs train.
type world struct {
	*queuetest.Fake
	tb    testing.TB
	now   time.Time
	rng   *rand.Rand
	jobs  []*trainee
	ended int
}

// sleep lets time pass in the world.
func (w *world) sleep(ctx context.Context, d time.Duration) error {
	for d > 0 {
		step := min(d, studyTick)
		w.advance(step)
		d -= step
	}
	return ctx.Err()
}

// advance lets jobs arrive, train and end.
func (w *world) advance(d time.Duration) {
	w.now = w.now.Add(d)
	for _, j := range w.jobs {
		if f := w.Get(j.id); f == nil && j.ends.IsZero() && !j.arrives.After(w.now) {
			add := w.Add(j.id, j.requested)
			add.Name, add.GPUType, add.Submitted = j.app+"-"+j.id, "t4", j.arrives
		}
	}
	w.Step()
	for _, j := range w.jobs {
		if f := w.Get(j.id); f != nil && f.State == queue.Running {
			w.train(j, f, d)
		}
	}
}

// train lets a job make steps, and print one of them every half minute.
func (w *world) train(j *trainee, f *queuetest.Job, d time.Duration) {
	if !j.started.Equal(f.Started) {
		j.started, j.speed, j.told = f.Started, math.Exp(studyNoise*w.rng.NormFloat64()), w.now
	}
	d = min(d, w.now.Sub(f.Started.Add(studyRestart)))
	if d <= 0 {
		return
	}
	var p data.Placement
	for _, s := range f.Nodes {
		p = append(p, s.Workers)
	}
	slices.Sort(p)
	seconds, _, err := j.table.Times(p, j.batch/float64(p.Workers()))
	if err != nil {
		w.tb.Fatal(err)
	}
	seconds *= j.speed
	if j.done += d.Seconds() / seconds; j.done >= j.steps {
		j.ends = w.now.Add(-time.Duration((j.done - j.steps) * seconds * 1e9))
		w.End(j.id)
		delete(w.Logs, j.id)
		w.ended++
		return
	}
	if w.now.Sub(j.told) >= 30*time.Second {
		j.told = w.now
		w.Logs[j.id] += fmt.Sprintf("knee: {\"step\":%.0f,\"step_time_s\":%g}\n", j.done, seconds*math.Exp(.02*w.rng.NormFloat64()))
	}
}

// newWorld draws jobs: an application, what its owner asks for, and work for a
// quarter of an hour to two hours on that.
func newWorld(tb testing.TB, profiles *measured.Profiles, seed uint64) *world {
	w := &world{Fake: queuetest.New("n1", "n2", "n3", "n4", "n5", "n6"), tb: tb, now: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), rng: rand.New(rand.NewPCG(seed, 18))}
	for i := range w.Cluster.Nodes {
		w.Cluster.Nodes[i].GPUType = "t4"
	}
	w.Fake.Now = func() time.Time { return w.now }
	apps := slices.Sorted(maps.Keys(profiles.Apps))
	arrives, work := w.now, 0.0
	for i := range studyJobs {
		j := &trainee{id: fmt.Sprint(i + 1), app: apps[w.rng.IntN(len(apps))], requested: []int{1, 2, 4, 8}[w.rng.IntN(4)]}
		j.table = profiles.Apps[j.app].Tables["t4"]
		j.batch = math.Floor(j.table.LocalMax)
		if j.requested > 1 {
			j.batch *= 2
		}
		j.most = max(j.requested, min(16, int(j.batch/j.table.LocalMin)))
		p := data.Placement{j.requested}
		if j.requested == 8 {
			p = data.Placement{4, 4}
		}
		seconds, _, err := j.table.Times(p, j.batch/float64(j.requested))
		if err != nil {
			tb.Fatal(err)
		}
		lasts := 900 * math.Pow(8, w.rng.Float64())
		j.steps = math.Ceil(lasts / seconds)
		work += lasts * float64(j.requested)
		w.jobs = append(w.jobs, j)
	}
	gap := work / (studyLoad * 24) / studyJobs
	for _, j := range w.jobs {
		j.arrives = arrives
		arrives = arrives.Add(time.Duration(gap * w.rng.ExpFloat64() * 1e9))
	}
	return w
}

// meanJCT is the mean time from arrival to end, in seconds.
func (w *world) meanJCT() float64 {
	sum := 0.0
	for _, j := range w.jobs {
		sum += j.ends.Sub(j.arrives).Seconds()
	}
	return sum / float64(len(w.jobs))
}

// studyModels fits a model of every application to one placement each of one,
// two, four and eight workers, at the batch that a job would have there.
func studyModels(tb testing.TB, dir string) map[string]string {
	out := map[string]string{}
	files, err := filepath.Glob(filepath.Join(bench.Dir(tb), "allreduce", "*-t4-placements.csv"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("%v, %d tables", err, len(files))
	}
	for _, file := range files {
		all, _, err := data.LoadMeasurements(file)
		if err != nil {
			tb.Fatal(err)
		}
		most := 0.0
		for _, m := range all {
			most = max(most, m.LocalBatch)
		}
		var rows []data.Measurement
		for _, p := range []data.Placement{{1}, {2}, {4}, {4, 4}} {
			best, far := data.Measurement{}, math.Inf(1)
			for _, m := range all {
				if d := math.Abs(math.Log(m.LocalBatch * float64(p.Workers()) / (2 * most))); slices.Equal(m.Placement, p) && m.Status == data.OK && d < far {
					best, far = m, d
				}
			}
			if best.StepTime > 0 {
				rows = append(rows, best)
			}
		}
		m, err := fit.Fit(rows, fit.Settings{})
		if err != nil {
			tb.Fatal(err)
		}
		app := rows[0].Job
		out[app] = filepath.Join(dir, app+".json")
		if err := fit.WriteModel(out[app], m); err != nil {
			tb.Fatal(err)
		}
	}
	return out
}

// operated runs the jobs under the loop.
func (w *world) operated(models map[string]string, fits int) {
	dir, err := os.MkdirTemp("", "study")
	if err != nil {
		w.tb.Fatal(err)
	}
	defer os.RemoveAll(dir)
	text := "scheduler: slurm\ninterval: 5m\nmax_changes: 6\nbetween_moves: 20m\nallow: [{user: ann}]\nrules:\n"
	for _, j := range w.jobs {
		text += fmt.Sprintf("  - {match: {name: %s-%s}, model: %s, remaining: {steps: %.0f}, batch: {initial: %g}, workers: {max: %d}, checkpoint: true, restart_seconds: %g}\n",
			j.app, j.id, models[j.app], j.steps, j.batch, j.most, studyRestart.Seconds())
	}
	c, err := data.ReadOperate(strings.NewReader(text), filepath.Join(dir, "operate.yaml"))
	if err == nil {
		err = os.MkdirAll(operate.Folder(c), 0o755)
	}
	if err != nil {
		w.tb.Fatal(err)
	}
	now := func() time.Time { return w.now }
	audit, err := operate.OpenAudit(operate.Folder(c), now)
	if err != nil {
		w.tb.Fatal(err)
	}
	defer audit.Close()
	l := &operate.Loop{Config: c, Scheduler: w.Fake, Confirm: true, Audit: audit, Now: now, Sleep: w.sleep, Fits: fits, Plan: operate.Planner(c, now)}
	for w.ended < len(w.jobs) {
		before := w.now
		if len(w.Jobs) > 0 {
			out, err := l.Turn(w.tb.Context())
			if err != nil {
				w.tb.Fatal(err)
			}
			w.remember(out.Folder, before)
		}
		_ = w.sleep(w.tb.Context(), c.Interval-w.now.Sub(before))
	}
}

// remember keeps the forecasts of a turn.
func (w *world) remember(folder string, at time.Time) {
	var rows []queue.Row
	text, err := os.ReadFile(filepath.Join(folder, "queue.json"))
	if err == nil {
		err = json.Unmarshal(text, &rows)
	}
	if err != nil {
		w.tb.Fatal(err)
	}
	for _, r := range rows {
		i := slices.IndexFunc(w.jobs, func(j *trainee) bool { return j.id == r.ID })
		if i >= 0 && r.Finish.Mean > 0 {
			w.jobs[i].known = append(w.jobs[i].known, forecast{at, r.Started, r.Finish})
		}
	}
}

// forecasts says of how many jobs the first forecast after their last start held
// the end, and what the relative error of each was.
func (w *world) forecasts() (held int, off []float64) {
	for _, j := range w.jobs {
		i := slices.IndexFunc(j.known, func(f forecast) bool { return f.started.Equal(j.started) })
		if i < 0 {
			continue
		}
		f := j.known[i]
		took := j.ends.Sub(f.at).Seconds()
		if took >= f.finish.Lo && took <= f.finish.Hi {
			held++
		}
		off = append(off, math.Abs(f.finish.Mean/took-1))
	}
	return held, off
}

// asSubmitted runs the jobs without changes.
func (w *world) asSubmitted() {
	for w.ended < len(w.jobs) {
		w.advance(studyTick)
	}
}

// BenchmarkStudy compares the loop with leaving jobs as submitted.
//
//	go test ./operate -run '^$' -bench Study -benchtime 1x -v
func BenchmarkStudy(b *testing.B) {
	profiles, err := measured.Load(bench.Dir(b))
	if err != nil {
		b.Fatal(err)
	}
	models := studyModels(b, b.TempDir())
	b.Run("learning", func(b *testing.B) { study(b, profiles, models, 0) })
	b.Run("as-fitted", func(b *testing.B) { study(b, profiles, models, -1) })
}

// study runs eight draws of jobs both ways.
func study(b *testing.B, profiles *measured.Profiles, models map[string]string, fits int) {
	var ratios, off []float64
	held := 0
	for seed := range uint64(8) {
		left, loop := newWorld(b, profiles, seed), newWorld(b, profiles, seed)
		left.asSubmitted()
		loop.operated(models, fits)
		ratios = append(ratios, math.Log(loop.meanJCT()/left.meanJCT()))
		h, o := loop.forecasts()
		held, off = held+h, append(off, o...)
		b.Logf("seed %d: mean JCT %.0f s as submitted, %.0f s under the loop; %d of %d ends in their interval", seed, left.meanJCT(), loop.meanJCT(), h, len(o))
	}
	mean, sd := stat.MeanStdDev(ratios, nil)
	half := distuv.StudentsT{Nu: float64(len(ratios) - 1), Sigma: 1}.Quantile(.975) * sd / math.Sqrt(float64(len(ratios)))
	slices.Sort(off)
	near, _ := slices.BinarySearch(off, .1) // of who believes in a point
	b.Logf("mean JCT × %.2f (95 %% %.2f to %.2f, %d seeds); %d of %d ends in their 90 %% interval, %d within 10 %% of the point, error: median %.1f %%, mean %.1f %%, worst %.0f %%",
		math.Exp(mean), math.Exp(mean-half), math.Exp(mean+half), len(ratios), held, len(off), near, 100*stat.Quantile(.5, stat.Empirical, off, nil), 100*stat.Mean(off, nil), 100*off[len(off)-1])
	b.ReportMetric(math.Exp(mean), "JCT/as-submitted")
	b.ReportMetric(float64(held)/float64(len(off)), "covered")
}
