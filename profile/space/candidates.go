// Package space lists the configurations that a study leaves to choose from,
// and renders the command of each.
package space

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"knee/data"
)

// maxCandidates bounds the size of a search space: past it the space is
// almost certainly a mistake, and every step of a search would be slow.
const maxCandidates = 100_000

// Candidates lists every configuration of a study's space that satisfies
// its constraints, in the order in which the knobs and values are written,
// the last knob changing fastest.
//
// Combinations that mean nothing are left out or folded: all-reduce has no
// parameter servers, so its candidates differ in ps only if nothing else
// does; a parameter-server mode needs at least one.
//
// Errors name the knob or constraint of the study that is wrong; a
// constraint that leaves nothing is one of them.
func Candidates(s *data.Study) ([]data.Config, error) {
	values := make([][]string, len(s.Space))
	total := 1
	for i, k := range s.Space {
		v, err := knobValues(k)
		if err != nil {
			return nil, err
		}
		values[i] = v
		if total > maxCandidates/len(v) {
			return nil, &data.InputError{Source: data.Source{File: s.Source.File, Line: s.Space[0].Source.Line, Column: "space"},
				Found: fmt.Sprintf("more than %d configurations", maxCandidates), Want: "fewer values or shorter ranges"}
		}
		total *= len(v)
	}
	constraints, err := compileConstraints(s)
	if err != nil {
		return nil, err
	}
	var all []data.Config
	seen := map[string]bool{}
	combined := 0
	for i := range total {
		c, ok, err := configAt(s, values, i)
		if err != nil {
			return nil, err
		}
		if !ok || seen[c.Key()] {
			continue
		}
		seen[c.Key()] = true
		combined++
		keep, err := constraints.keep(c)
		if err != nil {
			return nil, err
		}
		if keep {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return nil, constraints.nothingLeft(s, combined)
	}
	return all, nil
}

// knobValues returns the values of a knob as they are written.
func knobValues(k data.Knob) ([]string, error) {
	if k.Range == nil {
		if len(k.Values) == 0 {
			return nil, &data.InputError{Source: k.Source, Found: "no values", Want: "a list of values, or {min: …, max: …}"}
		}
		return k.Values, nil
	}
	r := *k.Range
	if r.Scale == "log2" {
		return logRange(k, r)
	}
	step := r.Step
	if step == 0 {
		step = 1
	}
	n := math.Floor((r.Max-r.Min)/step+1e-9) + 1
	if !(n >= 1 && step > 0 && n <= maxCandidates) {
		return nil, &data.InputError{Source: k.Source, Found: fmt.Sprintf("min %g, max %g, step %g", r.Min, r.Max, step),
			Want: fmt.Sprintf("min ≤ max, a positive step and at most %d values", maxCandidates)}
	}
	var v []string
	for i := range int(n) {
		v = append(v, formatNumber(r.Min+float64(i)*step))
	}
	return v, nil
}

// logRange doubles from min up to max; max itself is always included, since
// a user who names a largest size wants it looked at.
func logRange(k data.Knob, r data.Range) ([]string, error) {
	if !(r.Min > 0 && r.Min <= r.Max && r.Max/r.Min < 1e12) {
		return nil, &data.InputError{Source: k.Source, Found: fmt.Sprintf("min %g, max %g", r.Min, r.Max), Want: "0 < min ≤ max for scale log2"}
	}
	var v []string
	for x := r.Min; x < r.Max*(1-1e-9); x *= 2 {
		v = append(v, formatNumber(x))
	}
	return append(v, formatNumber(r.Max)), nil
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', 12, 64) }

// configAt decodes combination i of the values; ok is false for a
// combination that means nothing.
func configAt(s *data.Study, values [][]string, i int) (c data.Config, ok bool, err error) {
	c = data.Config{Job: s.Job, Mode: data.AllReduce, Workers: 1, GPUType: onlyGPUType(s)}
	globalBatch := 0.0
	hasWorkers, hasAccum := false, false
	for j := len(values) - 1; j >= 0; j-- {
		v := values[j][i%len(values[j])]
		i /= len(values[j])
		k := s.Space[j]
		hasWorkers, hasAccum = hasWorkers || k.Name == "workers", hasAccum || k.Name == "accum_steps"
		if err := setKnob(&c, &globalBatch, k, v); err != nil {
			return c, false, err
		}
	}
	if c.ModeOrDefault() == data.AllReduce {
		c.PS = 0
	} else if c.PS < 1 {
		return c, false, nil
	}
	if len(c.Placement) > 0 {
		if hasWorkers && c.Placement.Workers() != c.Workers {
			return c, false, nil
		}
		c.Workers, c.Nodes = c.Placement.Workers(), len(c.Placement)
	}
	if c.Nodes > c.Workers {
		return c, false, nil
	}
	if _, _, want := c.Layout.Check(c.Workers, c.ModeOrDefault(), s.Model); want != "" {
		return c, false, nil
	}
	if globalBatch > 0 && c.LocalBatch > 0 { // so that the accumulation follows
		steps := globalBatch / (float64(c.Replicas()) * c.LocalBatch)
		if whole := math.Round(steps); hasAccum || whole < 1 || math.Abs(steps-whole) > 1e-9*whole {
			return c, false, nil
		}
		c.AccumSteps = int(math.Round(steps)) - 1
	} else if globalBatch > 0 {
		c.LocalBatch = globalBatch / float64(c.Replicas()*(c.AccumSteps+1))
	}
	return c, true, nil
}

// onlyGPUType is the GPU type of a study that does not vary it: the one that
// has a price, else "cpu" where trials run as local ranks.
func onlyGPUType(s *data.Study) string {
	if len(s.PricePerHour) == 1 {
		for t := range s.PricePerHour {
			return t
		}
	}
	if s.Launcher.Local != nil && s.Launcher.Local.Ranks {
		return "cpu"
	}
	return ""
}

// setKnob sets one knob of a configuration from its text.
func setKnob(c *data.Config, globalBatch *float64, k data.Knob, v string) error {
	wrong := func(want string) error {
		return &data.InputError{Source: k.Source, Found: strconv.Quote(v), Want: want}
	}
	count := func(to *int, least int) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least {
			return wrong(fmt.Sprintf("a whole number ≥ %d", least))
		}
		*to = n
		return nil
	}
	samples := func(to *float64) error {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || !(x > 0) || math.IsInf(x, 0) {
			return wrong("samples > 0")
		}
		*to = x
		return nil
	}
	var err error
	switch k.Name {
	case "gpu_type":
		c.GPUType = v
	case "mode":
		if c.Mode, err = data.ParseMode(v); err != nil {
			return wrong("allreduce, ps-sync or ps-async")
		}
	case "placement":
		if c.Placement, err = data.ParsePlacement(v); err != nil {
			return wrong("workers per node, such as 4-4-2")
		}
	case "nodes":
		return count(&c.Nodes, 1)
	case "workers":
		return count(&c.Workers, 1)
	case "ps":
		return count(&c.PS, 0)
	case "accum_steps":
		return count(&c.AccumSteps, 0)
	case "local_batch":
		return samples(&c.LocalBatch)
	case "global_batch":
		return samples(globalBatch)
	default:
		if slices.Contains(data.LayoutNames(), k.Name) {
			if want := c.Layout.Set(k.Name, v); want != "" {
				return wrong(want)
			}
			return nil
		}
		if c.Extra == nil {
			c.Extra = map[string]string{}
		}
		c.Extra[strings.TrimPrefix(k.Name, "x_")] = v
	}
	return nil
}
