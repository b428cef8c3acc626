package speed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/fit/prior"
)

// modelFile is a model as part of model.json.
type modelFile struct {
	Prior  string      `json:"prior"` // see [prior.Fingerprint]
	Groups []groupFile `json:"groups"`
}

// groupFile is the fit of one mode. Parameters are for information; Posterior
// gives the predictions, the group first, then its members.
type groupFile struct {
	Mode         data.Mode          `json:"mode"`
	Family       string             `json:"family"`
	Plain        bool               `json:"layouts_ignored,omitempty"`
	GPUTypes     []string           `json:"gpu_types"`
	Outliers     []string           `json:"outliers,omitempty"`
	Suspect      bool               `json:"suspect,omitempty"` // see group.suspect
	Stops        map[string]float64 `json:"stops,omitempty"`   // see group.stops
	Borrowed     []borrowed         `json:"borrowed,omitempty"`
	Counts       []int              `json:"counts"`
	Parameters   []paramFile        `json:"parameters"`
	Posterior    []modeFile         `json:"posterior,omitempty"`
	Measurements []rowFile          `json:"measurements"`
}

type paramFile struct {
	GPUType string        `json:"gpu_type"`
	Name    string        `json:"name"`
	Unit    string        `json:"unit,omitempty"`
	Value   data.Estimate `json:"value"`
}

// rowFile is a merged row. Missing runs are 1, other missing fields 0.
type rowFile struct {
	data.Measurement
	Runs     float64 `json:"runs,omitempty"`
	Variance float64 `json:"relative_variance,omitempty"` // recorded variance of the mean
	Within   float64 `json:"within,omitempty"`            // sum of squares of ln step time between its runs
	LeftOut  float64 `json:"left_out,omitempty"`          // variance added to an outlier or a lower bound
}

// MarshalJSON implements [json.Marshaler].
func (m *Model) MarshalJSON() ([]byte, error) {
	f := modelFile{Prior: prior.Fingerprint()}
	for _, g := range m.groups {
		gf := groupFile{
			Mode: g.mode, Family: g.family, Plain: g.plain, GPUTypes: g.types, Outliers: g.outliers, Suspect: g.suspect, Stops: g.stops, Counts: g.counts,
		}
		rest := 1.
		for _, m := range g.members {
			gf.Posterior = append(gf.Posterior, m.toFile(m.share))
			rest -= m.share
		}
		gf.Posterior = slices.Insert(gf.Posterior, 0, g.toFile(rest))
		for t, gpu := range g.types {
			for _, p := range g.post.parameters(t) {
				gf.Parameters = append(gf.Parameters, paramFile{gpu, p.Name, p.Unit, p.Value})
			}
			if b := g.borrowed[t]; b.Jobs != nil || b.MessageBytes > 0 || b.Interconnect > 0 {
				gf.Borrowed = g.borrowed
			}
		}
		for i := range g.rows {
			r := &g.rows[i]
			rf := rowFile{Measurement: r.Measurement, Variance: r.se2, Within: r.within, LeftOut: r.inflated}
			rf.Job = "" // same as the model's
			if r.runs > 1 {
				rf.Runs = r.runs
			}
			gf.Measurements = append(gf.Measurements, rf)
		}
		f.Groups = append(f.Groups, gf)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(f)
	return b.Bytes(), err
}

// Restore returns the model written by MarshalJSON, with the same predictions.
// It refits if the file has no posterior, or one of other measurements or
// another prior. job and seed are those of model.json. It fails for
// inconsistent contents.
func Restore(text []byte, job string, seed int64) (*Model, error) {
	var f modelFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	m := &Model{job: job, seed: seed}
	for i, gf := range f.Groups {
		gf.fold()
		if f.Prior != prior.Fingerprint() {
			gf.Posterior = nil
		}
		g, err := gf.restore(job, seed)
		if err != nil {
			return nil, fmt.Errorf("groups[%d]: %w", i, err)
		}
		for _, gpu := range g.types {
			if other, _ := m.find(gpu, g.mode); other != nil {
				return nil, fmt.Errorf("groups[%d]: %s appears twice", i, g.kind())
			}
		}
		m.groups = append(m.groups, g)
		m.warnings = append(m.warnings, g.warnings()...)
	}
	if len(m.groups) == 0 {
		return nil, errors.New("no fitted speed")
	}
	return m, nil
}

// fold converts GPU types by [data.GPUTypeOf]; earlier versions kept more of their
// spelling. Of types that become one, the first one's borrowed prior counts.
func (gf *groupFile) fold() {
	types, counts, priors := gf.GPUTypes, gf.Counts, gf.Borrowed
	same := !slices.ContainsFunc(types, func(t string) bool { return data.GPUTypeOf(t) != t })
	if same || len(counts) != len(types) || priors != nil && len(priors) != len(types) {
		return
	}
	gf.GPUTypes, gf.Counts, gf.Borrowed = nil, nil, nil
	for i, t := range types {
		t = data.GPUTypeOf(t)
		if at := slices.Index(gf.GPUTypes, t); at >= 0 {
			gf.Counts[at] += counts[i]
			continue
		}
		gf.GPUTypes, gf.Counts = append(gf.GPUTypes, t), append(gf.Counts, counts[i])
		if priors != nil {
			gf.Borrowed = append(gf.Borrowed, priors[i])
		}
	}
	for i := range gf.Measurements {
		gf.Measurements[i].GPUType = data.GPUTypeOf(gf.Measurements[i].GPUType)
	}
}

// restore rebuilds a group.
func (gf *groupFile) restore(job string, seed int64) (*group, error) {
	mode, err := data.ParseMode(string(gf.Mode))
	if err != nil {
		return nil, err
	}
	layouts := slices.ContainsFunc(gf.Measurements, func(r rowFile) bool { return !r.Plain() })
	if _, err := familyFor(gf.Family, mode, layouts); err != nil || gf.Family == "" || gf.Family == Auto {
		return nil, fmt.Errorf("family %q does not describe mode %s", gf.Family, mode)
	}
	if len(gf.Measurements) == 0 || len(gf.Measurements) > maxRows {
		return nil, fmt.Errorf("%d measurements, want 1 to %d", len(gf.Measurements), maxRows)
	}
	g := &group{mode: mode, family: gf.Family, plain: gf.Plain, counts: gf.Counts, prior: prior.Default(), outliers: gf.Outliers, suspect: gf.Suspect, stops: gf.Stops, borrowed: gf.Borrowed}
	g.rows = make([]row, 0, len(gf.Measurements))
	for _, rf := range gf.Measurements {
		r := row{Measurement: rf.Measurement, runs: max(rf.Runs, 1), se2: rf.Variance, within: rf.Within, inflated: rf.LeftOut}
		r.Job, r.Mode, r.freedom = job, mode, r.runs-1
		if err := checkRow(r.Measurement); err != nil {
			return nil, err
		}
		if !(min(rf.Runs, rf.Variance, rf.Within, rf.LeftOut) >= 0 && max(rf.Runs, rf.Variance, rf.Within, rf.LeftOut) < 1e12) {
			return nil, fmt.Errorf("a measurement with runs %g, variances %g, %g and %g", rf.Runs, rf.Variance, rf.Within, rf.LeftOut)
		}
		g.rows = append(g.rows, r)
		if !slices.Contains(g.types, r.GPUType) {
			g.types = append(g.types, r.GPUType)
		}
	}
	if len(g.counts) != len(g.types) || slices.ContainsFunc(g.counts, func(n int) bool { return n < 1 || n > 1e9 }) {
		return nil, fmt.Errorf("counts %v, want one of at least 1 for each GPU type", g.counts)
	}
	if !slices.Equal(g.types, gf.GPUTypes) {
		return nil, fmt.Errorf("gpu_types %q, but measurements of %q", gf.GPUTypes, g.types)
	}
	if g.borrowed == nil {
		g.borrowed = make([]borrowed, len(g.types))
	}
	if err := g.checkBorrowed(); err != nil {
		return nil, err
	}
	if err := g.architecture(); err != nil {
		return nil, err
	}
	g.measure()
	if err := g.prepare(); err != nil {
		return nil, err
	}
	if g.resume(gf.Posterior, seed) {
		return g, nil
	}
	ctx := context.Background()
	if err := g.begin(ctx); err != nil {
		return nil, err
	}
	return g, g.average(ctx, seed)
}

func (g *group) checkBorrowed() error {
	if len(g.borrowed) != len(g.types) {
		return fmt.Errorf("%d borrowed priors, want one for each of %d GPU types", len(g.borrowed), len(g.types))
	}
	for _, b := range g.borrowed {
		for name, c := range b.Coordinates {
			if !(math.Abs(c.Mean) < 100 && c.SD > 1e-6 && c.SD < 100) {
				return fmt.Errorf("borrowed prior of %s with mean %g and sd %g, want numbers of reasonable size", name, c.Mean, c.SD)
			}
		}
	}
	return nil
}
