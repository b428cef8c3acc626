package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"knee/data"
	"knee/fit/interference"
	"knee/internal/grouped"
	"knee/profile/launch"
	"knee/profile/meter"
	"knee/profile/space"
	"knee/profile/store"
)

// Beside measures two studies at once on the same devices. Configurations with the same GPU
// type and workers make a pair: each job is measured alone, into the files of its study, then
// while the other runs, into files named after both. It returns two rows per pair, and their
// .pairs.csv file. Trials are local: engines would put the jobs on different nodes.
func Beside(ctx context.Context, a, b *data.Study, dir string, o Settings) (rows []interference.Measured, file string, err error) {
	for _, s := range []*data.Study{a, b} {
		if s.Launcher.Local == nil || !store.IsJournal(s) {
			return nil, "", &data.InputError{Source: s.Source, Found: "a launcher or storage that is shared", Want: "launcher: local and a journal, to measure a pair on the same devices"}
		}
	}
	if a.Job == b.Job {
		return nil, "", &data.InputError{Source: b.Source, Found: "job " + b.Job + " twice", Want: "two jobs of different names"}
	}
	pairs, err := matches(a, b)
	if err != nil {
		return nil, "", err
	}
	file = besideFiles(a, b, dir).Measurements
	file = strings.TrimSuffix(file, ".measurements.csv") + ".pairs.csv"
	for _, p := range pairs {
		for _, x := range []struct {
			job, other       *data.Study
			config, occupied data.Config
		}{{a, b, p[0], p[1]}, {b, a, p[1], p[0]}} {
			row, err := beside(ctx, x.job, x.other, x.config, x.occupied, dir, o)
			if err != nil {
				return rows, file, err
			}
			rows = append(rows, row)
		}
		if err := data.WriteFile(file, func(w io.Writer) error { return interference.Write(w, rows) }); err != nil {
			return rows, file, err
		}
	}
	return rows, file, nil
}

// matches pairs the first configurations of both studies for every GPU type and size.
func matches(a, b *data.Study) ([][2]data.Config, error) {
	ofA, err := space.Candidates(a)
	ofB, bad := space.Candidates(b)
	if err = cmp.Or(err, bad); err != nil {
		return nil, err
	}
	type size struct {
		gpuType string
		workers int
	}
	sizeOf := func(c data.Config) size { return size{c.GPUType, c.Workers} }
	sizes, inA := grouped.By(ofA, sizeOf)
	_, inB := grouped.By(ofB, sizeOf)
	var out [][2]data.Config
	for _, s := range sizes {
		if inB[s] != nil {
			out = append(out, [2]data.Config{inA[s][0], inB[s][0]})
		}
	}
	if len(out) == 0 {
		return nil, &data.InputError{Source: b.Source, Found: "no GPU type and number of workers that job " + a.Job + " has too", Want: "at least one in common, to measure both on the same devices"}
	}
	return out, nil
}

func besideFiles(s, other *data.Study, dir string) Files {
	base := func(s *data.Study) string {
		return strings.TrimSuffix(filepath.Base(s.Source.File), filepath.Ext(s.Source.File))
	}
	return FilesBeside(filepath.Join(filepath.Dir(s.Source.File), base(s)+".beside-"+base(other)+".yaml"), dir)
}

// beside measures a configuration alone, then while the other runs; share 0: no room.
func beside(ctx context.Context, s, other *data.Study, c, occupied data.Config, dir string, o Settings) (interference.Measured, error) {
	row := interference.Measured{Row: interference.Row{Job: s.Job, Beside: other.Job, GPUType: c.GPUType, Workers: c.Workers}}
	o.Only = []data.Config{c}
	alone, err := one(ctx, *s, FilesBeside(s.Source.File, dir), o)
	if err == nil && alone.Status != data.OK {
		err = fmt.Errorf("job %s on %s runs out of memory even without the other job", s.Job, c)
	}
	if err != nil {
		return row, err
	}
	files := besideFiles(s, other, dir)
	row.Alone = alone.StepTime
	stop, err := occupy(ctx, *other, occupied, files.Logs, o)
	if err != nil {
		if failure, ok := errors.AsType[*launch.Failure](err); ok && failure.Status == data.OOM {
			return row, nil
		}
		return row, err
	}
	both, err := one(ctx, *s, files, o)
	if ended := stop(); err == nil && ended != nil && both.Status == data.OK {
		err = ended
	}
	if both.Status == data.OOM {
		return row, nil
	}
	if row.StepTime = both.StepTime; err == nil {
		row.Share = row.Alone / row.StepTime
	}
	return row, err
}

// one measures o.Only[0], or returns its earlier measurement, ok or oom.
func one(ctx context.Context, s data.Study, f Files, o Settings) (data.Measurement, error) {
	res, err := Run(ctx, &s, f, o)
	for _, m := range res.Measurements {
		if m.Key() == o.Only[0].Key() && (m.Status == data.OK || m.Status == data.OOM) {
			return m, err
		}
	}
	if err == nil {
		err = fmt.Errorf("job %s on %s was not measured: %s; the output of trials is in %s", s.Job, o.Only[0], res.Stopped, f.Logs)
	}
	return data.Measurement{}, err
}

// occupy starts a job and returns once it is warm. stop ends it; an error: it had ended.
func occupy(ctx context.Context, s data.Study, c data.Config, logs string, o Settings) (stop func() error, err error) {
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for the trials' logs: %w", err)
	}
	dog, err := launch.StartWatchdog(o.Self, "guard")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dog.Close())
		}
	}()
	want := max(s.Trial.Warmup, meter.FewestSteps)
	s.Trial.MinSteps, s.Trial.MaxSeconds = math.MaxInt, math.Inf(1) // it runs until it is stopped
	warm, ended := make(chan struct{}), make(chan outcome, 1)
	steps := sync.OnceFunc(func() { close(warm) })
	r := &Runner{Study: &s, LogDir: logs, Self: o.Self, Notify: func(e Event) {
		if e.Kind == TrialStepped && e.Steps >= want {
			steps()
		}
	}}
	if r.Launcher, err = launch.New(&s, dog); err != nil {
		return nil, err
	}
	t, err := r.trialOf(0, 1, c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() { ended <- r.attempt(ctx, t) }()
	select {
	case <-warm:
		return func() error {
			select {
			case out := <-ended:
				return errors.Join(fmt.Errorf("job %s ended while the other job was measured; give it more steps: %s", s.Job, cmp.Or(out.measurement.Error, "it finished")), dog.Close())
			default:
				cancel(errEnough)
				<-ended
				return dog.Close()
			}
		}, nil
	case out := <-ended:
		defer cancel(nil)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &launch.Failure{Status: out.measurement.Status, Detail: fmt.Sprintf("job %s ended before it made enough steps to measure: %s", s.Job, cmp.Or(out.measurement.Error, "it finished"))}
	}
}
