package profile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"knee/data"
	"knee/profile/launch"
)

// Files is where a study keeps what it yields.
type Files struct {
	Journal      string // JSON lines, the record everything else is made from
	Measurements string // measurements.csv
	Curves       string // curve.csv
	Logs         string // folder with the output of every trial
	// Undelivered begins the names of the files that keep what a shared storage
	// could not take because it did not answer. The next run delivers it.
	Undelivered string
}

// FilesBeside returns the default files of a study: beside it, named after
// it. dir, if not empty, is the folder to use instead.
func FilesBeside(study, dir string) Files {
	base := strings.TrimSuffix(filepath.Base(study), filepath.Ext(study))
	if dir == "" {
		dir = filepath.Dir(study)
	}
	in := func(suffix string) string { return filepath.Join(dir, base+suffix) }
	return Files{in(".journal.jsonl"), in(".measurements.csv"), in(".curve.csv"), in(".logs"), in(".undelivered")}
}

// Settings says how a study is to be run; the zero value is the default.
type Settings struct {
	Search
	// Only, if not empty, are the configurations to measure, each once and in
	// order, in place of those that the strategy would choose from the space.
	Only    []data.Config
	Restart bool // set the journal aside and begin again
	// Lease is how long a profiler of a shared study may be silent until the
	// others take over its trials; 0 means [DefaultLease].
	Lease    time.Duration
	Self     string           // the program that "knee" at the start of a command stands for
	Watchdog *launch.Watchdog // may be nil
	Notify   func(Event)      // may be nil
	Drain    <-chan struct{}  // may be nil
}

// Open prepares a study for [Runner.Run]: it lists the candidates, opens the
// storage and takes up what it holds. Everything that can be wrong with the
// study is reported here, before anything is launched.
func Open(s *data.Study, f Files, o Settings) (*Runner, error) {
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
	if r.Strategy, err = NewStrategy(s, o.Search, r.Efficiency); err != nil {
		return nil, err
	}
	if len(o.Only) > 0 {
		r.Strategy = List{}
	}
	options, err := searchOptions(s, r.Efficiency)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(f.Measurements)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder %s for the measurements: %w", folder, err)
	}
	r.Storage, r.Past, err = openStorage(s, f, o, tracking{candidates, options})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Save writes the measurements and the training curves of a study.
func (f Files) Save(r Result) error {
	err := data.WriteFile(f.Measurements, func(w io.Writer) error { return data.WriteMeasurements(w, r.Measurements) })
	if err != nil || len(r.Curves) == 0 {
		return err
	}
	return data.WriteFile(f.Curves, func(w io.Writer) error { return data.WriteCurve(w, r.Curves) })
}
