// Package space lists the candidate configurations of a study.
package space

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"knee/data"
)

// maxCandidates bounds a search space: a larger one is probably a mistake.
const maxCandidates = 100_000

// Candidates lists every configuration of a study's space that satisfies its constraints, in the
// order in which the knobs and values are written, the last knob changing fastest.
//
// Invalid combinations are left out, and equivalent ones merged: all-reduce has
// no parameter servers, so its candidates differ in ps only if nothing else
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

// knobValues returns the values of a knob as written, at most maxCandidates. Scale log2
// doubles from min up to max, which is always included.
func knobValues(k data.Knob) ([]string, error) {
	if k.Range == nil {
		if len(k.Values) == 0 {
			return nil, &data.InputError{Source: k.Source, Found: "no values", Want: "a list of values, or {min: …, max: …}"}
		}
		return k.Values, nil
	}
	r := *k.Range
	at, last := func(i int) float64 { return r.Min + float64(i)*cmp.Or(r.Step, 1) }, r.Max*(1+1e-9)
	if r.Scale == "log2" {
		at, last = func(i int) float64 { return math.Ldexp(r.Min, i) }, r.Max*(1-1e-9)
	}
	var v []string
	for i := 0; at(i) <= last && len(v) <= maxCandidates; i++ {
		v = append(v, formatNumber(at(i)))
	}
	if r.Scale == "log2" && r.Min <= r.Max {
		v = append(v, formatNumber(r.Max))
	}
	if len(v) == 0 || len(v) > maxCandidates {
		return nil, &data.InputError{Source: k.Source, Found: fmt.Sprintf("min %g, max %g, step %g", r.Min, r.Max, r.Step),
			Want: fmt.Sprintf("min ≤ max, and at most %d values", maxCandidates)}
	}
	return v, nil
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', 12, 64) }

// configAt decodes combination i of the values; ok is false for an invalid one.
func configAt(s *data.Study, values [][]string, i int) (c data.Config, ok bool, err error) {
	c = data.Config{Job: s.Job, Mode: data.AllReduce, Workers: 1, GPUType: onlyGPUType(s)}
	globalBatch := 0.0
	hasWorkers, hasAccum := false, false
	for j := len(values) - 1; j >= 0; j-- {
		v := values[j][i%len(values[j])]
		i /= len(values[j])
		k := s.Space[j]
		hasWorkers, hasAccum = hasWorkers || k.Name == "workers", hasAccum || k.Name == "accum_steps"
		if k.Name == "global_batch" {
			globalBatch, _ = strconv.ParseFloat(v, 64) // parsed as Config.Set does
		}
		if want := c.Set(k.Name, v); want != "" {
			return c, false, &data.InputError{Source: k.Source, Found: strconv.Quote(v), Want: want}
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
	if _, _, want := c.Layout.Check(c.Workers, c.ModeOrDefault(), s.Model); want != "" || s.Model.Heads%max(c.TP, 1) != 0 {
		return c, false, nil
	}
	if globalBatch > 0 && c.LocalBatch > 0 { // accumulation follows from the batches
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

// onlyGPUType is that of a study that varies none: the priced one, or cpu of local ranks.
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

// Contention is a warning if trials on this machine's processors start more processes than it
// has cores: they do not hold for a machine with a core per process.
func Contention(s *data.Study, candidates []data.Config, cores int) string {
	l := s.Launcher
	if l.Replay != nil || l.Slurm != nil || l.Kubernetes != nil {
		return ""
	}
	crowded, most := 0, 0
	for _, c := range candidates {
		if n := max(s.Parallel, 1) * (c.Workers + c.PS); n > cores && (c.GPUType == "cpu" || c.GPUType == "") {
			crowded++
			most = max(most, n)
		}
	}
	if crowded == 0 {
		return ""
	}
	return fmt.Sprintf("this machine has %d cores, and %d of %d configurations run more workers and servers at once, up to %d: "+
		"they are measured while sharing cores, so they would scale differently on more cores", cores, crowded, len(candidates), most)
}

// Untold is a warning of knobs whose value does not reach the training: the command is the
// same for all values, and neither it nor a script that it names reads the knob's variable.
func Untold(s *data.Study, candidates []data.Config) string {
	if len(candidates) == 0 || len(s.Command) == 0 || s.Command[0] == "knee" { // whose trainer reads the variables
		return ""
	}
	spoken := strings.Join(s.Command, " ")
	for _, file := range s.Command {
		if s.Dir != "" && !filepath.IsAbs(file) {
			file = s.Source.Beside(filepath.Join(s.Dir, file))
		}
		if ext := filepath.Ext(file); ext == ".py" || ext == ".sh" { // others may be large
			content, _ := os.ReadFile(file)
			spoken += string(content)
		}
	}
	var untold []string
	for _, k := range s.Space {
		variable := "KNEE_" + strings.ToUpper(k.Name)
		if name := strings.TrimPrefix(k.Name, "x_"); candidates[0].Extra[name] != "" {
			variable = "KNEE_X_" + strings.ToUpper(name)
		}
		rendered := func(value string) string {
			c := candidates[0]
			c.Extra = maps.Clone(c.Extra)
			if c.Set(k.Name, value); k.Name == "global_batch" {
				c.Set("local_batch", value)
			}
			args, _ := data.RenderCommand(s.Command, c, s.Source)
			return strings.Join(args, " ")
		}
		launchers := slices.Contains([]string{"gpu_type", "mode", "placement", "nodes", "workers", "ps"}, k.Name)
		values, err := knobValues(k)
		if err == nil && len(values) > 1 && !launchers && !strings.Contains(spoken, variable) && rendered(values[0]) == rendered(values[1]) {
			untold = append(untold, variable)
		}
	}
	if untold == nil {
		return ""
	}
	return fmt.Sprintf("the command is the same for all values of %s: unless what it starts reads these variables, such trials differ in name only", strings.Join(untold, ", "))
}
