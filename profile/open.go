package profile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"knee/bayesopt"
	"knee/data"
	"knee/profile/launch"
)

// Files is where a study keeps what it yields.
type Files struct {
	Journal      string // JSON lines, the record everything else is made from
	Measurements string // measurements.csv
	Curves       string // curve.csv
	Logs         string // folder with the output of every trial
}

// FilesBeside returns the default files of a study: beside it, named after
// it. dir, if not empty, is the folder to use instead.
func FilesBeside(study, dir string) Files {
	base := strings.TrimSuffix(filepath.Base(study), filepath.Ext(study))
	if dir == "" {
		dir = filepath.Dir(study)
	}
	in := func(suffix string) string { return filepath.Join(dir, base+suffix) }
	return Files{in(".journal.jsonl"), in(".measurements.csv"), in(".curve.csv"), in(".logs")}
}

// Settings says how a study is to be run; the zero value is the default.
type Settings struct {
	Strategy string // one of bayesopt.Strategies; empty for its default
	// Only, if not empty, are the configurations to measure, each once and in
	// order, in place of those that the strategy would choose from the space.
	Only     []data.Config
	Restart  bool             // set the journal aside and begin again
	Self     string           // the program that "knee" at the start of a command stands for
	Watchdog *launch.Watchdog // may be nil
	Notify   func(Event)      // may be nil
	Drain    <-chan struct{}  // may be nil
}

// Open prepares a study for [Runner.Run]: it lists the candidates, opens the
// journal and takes up what it holds. Everything that can be wrong with the
// study is reported here, before anything is launched.
func Open(s *data.Study, f Files, o Settings) (*Runner, error) {
	if s.Storage != "" && s.Storage != "journal" {
		return nil, &data.InputError{Source: data.Source{File: s.Source.File, Column: "storage"}, Found: strconv.Quote(s.Storage),
			Want: "journal, the one storage of this version; studies shared through a database are not supported yet"}
	}
	candidates, err := o.Only, error(nil)
	if len(candidates) == 0 {
		candidates, err = Candidates(s)
	}
	if err != nil {
		return nil, err
	}
	if s.Launcher.Replay == nil {
		for _, c := range candidates {
			if _, err := Command(s, c); err != nil {
				return nil, err
			}
		}
	}
	parser, err := launch.NewParser(s.Metrics)
	if err != nil {
		return nil, err
	}
	beside := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(filepath.Dir(s.Source.File), path)
	}
	launcher, err := launch.New(s.Launcher, launch.Settings{Parser: parser, Watchdog: o.Watchdog, Table: beside})
	if err != nil {
		return nil, err
	}
	if s.Dir != "" {
		s.Dir = beside(s.Dir)
	}
	r := &Runner{Study: s, Candidates: candidates, Launcher: launcher, LogDir: f.Logs, Self: o.Self, Notify: o.Notify, Drain: o.Drain}
	if r.Strategy, err = NewStrategy(s, o.Strategy, r.Efficiency); err != nil {
		return nil, err
	}
	if len(o.Only) > 0 {
		r.Strategy = List{}
	}
	if o.Restart {
		if err := os.Rename(f.Journal, f.Journal+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	if r.Journal, r.Past, err = OpenJournal(f.Journal, s); err != nil {
		return nil, err
	}
	return r, nil
}

// NewStrategy returns the strategy of a study by its name in
// [bayesopt.Strategies], empty for the default.
func NewStrategy(s *data.Study, name string, efficiency func(globalBatch float64) float64) (bayesopt.Strategy, error) {
	objective, err := bayesopt.ParseObjective(s.Objective)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = "knee"
	}
	o := bayesopt.Options{Objective: objective, Efficiency: efficiency, Seed: s.Seed, TrialSeconds: s.Trial.MaxSeconds,
		// Runs of one configuration differ by several per cent on any real
		// machine, however well the steps of one run agree.
		Noisy: s.Launcher.Replay == nil}
	if len(s.PricePerHour) > 0 {
		o.Price = func(c data.Config) float64 { return Price(s, c) }
	}
	return bayesopt.NewStrategy(name, o)
}

// Save writes the measurements and the training curves of a study.
func (f Files) Save(r Result) error {
	err := data.WriteFile(f.Measurements, func(w io.Writer) error { return data.WriteMeasurements(w, r.Measurements) })
	if err != nil || len(r.Curves) == 0 {
		return err
	}
	return data.WriteFile(f.Curves, func(w io.Writer) error { return data.WriteCurve(w, r.Curves) })
}
