package measured

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"knee/data"
)

// Profiles are the applications that were measured, by name. They are safe
// for concurrent use.
type Profiles struct {
	Apps     map[string]*App
	Rates    *Rates // of rigid jobs, in steps/s; nil if there are none
	Warnings []string
}

// Load reads a folder of profiles:
//
//	allreduce/<job>-<gpu>-placements.csv    step times (measurements.csv)
//	allreduce/<job>-<gpu>-scalability.csv   the same on more nodes; optional
//	training/<job>-batch<B>.csv             a row per epoch of a run at total batch B
//	gavel/isolated.csv                      steps/s of rigid jobs; optional
//	workloads/pollux/interpolation/         how the published runs interpolate; optional
//
// Rates alone are enough. An application needs placements of one GPU type and one
// training run at least. Warnings name applications with only one of the two.
func Load(dir string) (*Profiles, error) {
	p := &Profiles{Apps: map[string]*App{}}
	speeds, training := filepath.Join(dir, "allreduce"), filepath.Join(dir, "training")
	if err := cmp.Or(p.loadSpeeds(speeds), p.loadRuns(training)); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Apps)) {
		if a := p.Apps[name]; len(a.runs) == 0 || len(a.Tables) == 0 {
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s: %s has %d GPU types and %d training runs; it needs at least one of each and is left out", dir, name, len(a.Tables), len(a.runs)))
			delete(p.Apps, name)
		}
	}
	rates := filepath.Join(dir, "gavel", "isolated.csv")
	if _, err := os.Stat(rates); err == nil {
		if p.Rates, err = loadRates(rates); err != nil {
			return nil, err
		}
	}
	if len(p.Apps) == 0 && p.Rates == nil {
		return nil, &data.InputError{Source: data.Source{File: dir}, Found: "no application with both", Want: "allreduce/*-placements.csv and training/*-batch*.csv of the same jobs"}
	}
	for _, a := range p.Apps {
		if err := a.complete(); err != nil {
			return nil, err
		}
	}
	return p, p.loadInterpolation(filepath.Join(dir, "workloads", "pollux", "interpolation"))
}

// App returns an application, or an error that lists the known ones.
func (p *Profiles) App(name string) (*App, error) {
	if a, ok := p.Apps[name]; ok {
		return a, nil
	}
	return nil, fmt.Errorf("no profile of application %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(p.Apps)), ", "))
}

func (p *Profiles) app(name string) *App {
	a, ok := p.Apps[name]
	if !ok {
		a = &App{Name: name, Tables: map[string]*Table{}}
		p.Apps[name] = a
	}
	return a
}

// loadSpeeds reads the measurements, placements before scalability.
func (p *Profiles) loadSpeeds(dir string) error {
	for _, kind := range []string{"placements", "scalability"} {
		files, err := filepath.Glob(filepath.Join(dir, "*-"+kind+".csv"))
		if err != nil {
			return fmt.Errorf("profiles: %w", err)
		}
		for _, file := range files {
			ms, warnings, err := data.LoadMeasurements(file)
			if err != nil {
				return err
			}
			p.Warnings = append(p.Warnings, warnings...)
			for _, m := range ms {
				if m.Status != data.OK {
					continue
				}
				if len(m.Placement) == 0 || m.LocalBatch <= 0 {
					src := m.Source
					src.Column = "placement"
					return &data.InputError{Source: src, Found: "a measurement without placement or batch", Want: "both, to look speeds up by"}
				}
				p.app(m.Job).table(m.GPUType).add(m, kind == "placements")
			}
		}
	}
	return nil
}

// loadRuns reads the training runs; the batch is in the name of the file.
func (p *Profiles) loadRuns(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*-batch*.csv"))
	if err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".csv")
		at := strings.LastIndex(name, "-batch")
		batch, ok := data.Samples().Parse(name[at+len("-batch"):])
		if !ok {
			return &data.InputError{Source: data.Source{File: file}, Found: "batch " + strconv.Quote(name[at+len("-batch"):]), Want: "a name <job>-batch<samples>.csv"}
		}
		points, warnings, err := data.LoadTable(file, data.ReadCurve)
		if err != nil {
			return err
		}
		p.Warnings = append(p.Warnings, warnings...)
		if err := p.app(name[:at]).addRun(batch, points, file); err != nil {
			return err
		}
	}
	return nil
}

// loadInterpolation reads the interpolation of the published runs, of which files may be
// missing.
func (p *Profiles) loadInterpolation(dir string) error {
	if err := p.loadQueries(filepath.Join(dir, "osdi21-nd-queries.csv")); err != nil {
		return err
	}
	for _, a := range p.Apps {
		if t := a.Tables[publishedType]; t != nil {
			if err := t.loadSimplices(filepath.Join(dir, "osdi21-simplices-"+a.Name+".csv")); err != nil {
				return err
			}
		}
	}
	return nil
}

// publishedType is the GPU type of the published interpolation.
const publishedType = "t4"
