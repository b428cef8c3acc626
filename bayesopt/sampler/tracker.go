package sampler

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/c-bata/goptuna"

	"knee/bayesopt"
	"knee/data"
)

// Tracker represents a search as a goptuna study, with one parameter per knob
// and one trial per suggestion, for use with goptuna's samplers and storages.
//
// Every knob is an ordinal, the index of its value in ascending order, with a
// discrete uniform distribution of step 1. goptuna's samplers never draw the
// upper bound of its integer distributions, and draw categorical ones from the
// process-wide random source.
//
// A Tracker is not safe for concurrent use; evaluations may run concurrently.
type Tracker struct {
	study *goptuna.Study
	opts  bayesopt.Options
	cands []data.Config
	knobs []ordinal
	index [][]float64 // ordinals of each candidate, in the order of knobs
	byKey map[string]int
}

// ordinal is one knob with its sorted values.
type ordinal struct {
	name   string
	text   func(data.Config) string
	values []string
}

// NewTracker returns a tracker with an empty study called name over the
// candidates. A nil storage is in memory; a nil sampler is goptuna's random
// one. The value of a trial is the objective in its natural unit, and the study
// has the objective's direction.
func NewTracker(name string, cands []data.Config, o bayesopt.Options, storage goptuna.Storage, sampler goptuna.Sampler) (*Tracker, error) {
	o, err := o.Validate()
	if err != nil {
		return nil, err
	}
	t := &Tracker{opts: o, cands: cands, knobs: ordinals(cands), byKey: make(map[string]int, len(cands))}
	for i, c := range cands {
		t.byKey[c.Key()] = i
		row := make([]float64, len(t.knobs))
		for k, knob := range t.knobs {
			row[k] = float64(slices.Index(knob.values, knob.text(c)))
		}
		t.index = append(t.index, row)
	}
	if storage == nil {
		storage = goptuna.NewInMemoryStorage()
	}
	if sampler == nil {
		sampler = goptuna.NewRandomSampler(goptuna.RandomSamplerOptionSeed(o.Seed))
	}
	direction := goptuna.StudyDirectionMinimize
	if o.Objective.Maximised() {
		direction = goptuna.StudyDirectionMaximize
	}
	t.study, err = goptuna.CreateStudy(name, goptuna.StudyOptionLogger(nil), goptuna.StudyOptionStorage(storage),
		goptuna.StudyOptionSampler(sampler), goptuna.StudyOptionDirection(direction),
		goptuna.StudyOptionDefineSearchSpace(t.Space()))
	if err != nil {
		return nil, fmt.Errorf("create goptuna study %s: %w", name, err)
	}
	return t, nil
}

// ordinals returns the knobs that vary over the candidates.
func ordinals(cands []data.Config) []ordinal {
	all := []ordinal{
		{name: "gpu_type", text: func(c data.Config) string { return c.GPUType }},
		{name: "mode", text: func(c data.Config) string { return string(c.ModeOrDefault()) }},
		{name: "placement", text: func(c data.Config) string { return c.Placement.String() }},
		{name: "nodes", text: func(c data.Config) string { return strconv.Itoa(c.NodeCount()) }},
		{name: "workers", text: func(c data.Config) string { return strconv.Itoa(c.Workers) }},
		{name: "ps", text: func(c data.Config) string { return strconv.Itoa(c.PS) }},
		{name: "local_batch", text: func(c data.Config) string { return strconv.FormatFloat(c.LocalBatch, 'g', -1, 64) }},
		{name: "accum_steps", text: func(c data.Config) string { return strconv.Itoa(c.AccumSteps) }},
	}
	for _, n := range data.LayoutNames() {
		all = append(all, ordinal{name: n, text: func(c data.Config) string { return c.Get(n) }})
	}
	names := map[string]bool{}
	for _, c := range cands {
		for n := range c.Extra {
			names[n] = true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		all = append(all, ordinal{name: "x_" + n, text: func(c data.Config) string { return c.Extra[n] }})
	}
	for k := range all {
		distinct := map[string]bool{}
		for _, c := range cands {
			distinct[all[k].text(c)] = true
		}
		all[k].values = slices.SortedFunc(maps.Keys(distinct), compareValues)
	}
	return slices.DeleteFunc(all, func(k ordinal) bool { return len(k.values) < 2 })
}

// compareValues sorts numbers by value, before other text.
func compareValues(a, b string) int {
	number := func(s string) float64 {
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			return v
		}
		return math.Inf(1)
	}
	return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
}

// Study returns the goptuna study.
func (t *Tracker) Study() *goptuna.Study { return t.study }

// Space returns the search space as goptuna distributions by parameter name.
func (t *Tracker) Space() map[string]interface{} {
	space := make(map[string]interface{}, len(t.knobs))
	for _, k := range t.knobs {
		space[k.name] = k.distribution()
	}
	return space
}

func (k ordinal) distribution() goptuna.DiscreteUniformDistribution {
	return goptuna.DiscreteUniformDistribution{Low: 0, High: float64(len(k.values) - 1), Q: 1}
}

// Start records the start of a trial of candidate i and returns its id.
func (t *Tracker) Start(i int) (trialID int, err error) {
	if i < 0 || i >= len(t.cands) {
		return 0, fmt.Errorf("start trial: candidate %d is out of range, want 0 to %d", i, len(t.cands)-1)
	}
	id, err := t.study.Storage.CreateNewTrial(t.study.ID)
	if err != nil {
		return 0, fmt.Errorf("start trial of %s: %w", t.cands[i], err)
	}
	for k, knob := range t.knobs {
		if err := t.study.Storage.SetTrialParam(id, knob.name, t.index[i][k], knob.distribution()); err != nil {
			return 0, fmt.Errorf("start trial of %s: parameter %s: %w", t.cands[i], knob.name, err)
		}
	}
	return id, nil
}

// Finish records the result of a trial. A trial without a finite value is
// recorded as failed: goptuna's databases would store 0.
func (t *Tracker) Finish(trialID int, m data.Measurement) error {
	state := goptuna.TrialStateFail
	if value, ok := t.opts.Value(m); ok {
		if err := t.study.Storage.SetTrialValue(trialID, value); err != nil {
			return fmt.Errorf("finish trial of %s: %w", m.Config, err)
		}
		state = goptuna.TrialStateComplete
	}
	if err := t.study.Storage.SetTrialUserAttr(trialID, "status", string(m.Status)); err != nil {
		return fmt.Errorf("finish trial of %s: %w", m.Config, err)
	}
	if err := t.study.Storage.SetTrialState(trialID, state); err != nil {
		return fmt.Errorf("finish trial of %s: %w", m.Config, err)
	}
	return nil
}

// Index returns the index of a candidate; false if c is not one.
func (t *Tracker) Index(c data.Config) (int, bool) {
	i, ok := t.byKey[c.Key()]
	return i, ok
}

// Propose returns ordinals for a trial, a new one if id is −1, by a relative
// sampler. Parameters that it does not propose (all if s is nil or the space
// has a single one) come from the study's sampler.
func (t *Tracker) Propose(s goptuna.RelativeSampler, id int) ([]float64, error) {
	if id < 0 {
		var err error
		if id, err = t.study.Storage.CreateNewTrial(t.study.ID); err != nil {
			return nil, err
		}
	}
	trial := goptuna.FrozenTrial{ID: id, StudyID: t.study.ID}
	var values map[string]float64
	var err error
	if s != nil {
		if values, err = s.SampleRelative(t.study, trial, t.Space()); err != nil && !errors.Is(err, goptuna.ErrUnsupportedSearchSpace) {
			return nil, err
		}
	}
	row := make([]float64, len(t.knobs))
	for k, knob := range t.knobs {
		v, ok := values[knob.name]
		if !ok {
			if v, err = t.study.Sampler.Sample(t.study, trial, knob.name, knob.distribution()); err != nil {
				return nil, fmt.Errorf("sample parameter %s: %w", knob.name, err)
			}
		}
		row[k] = v
	}
	return row, nil
}

// Gap returns the squared distance of a proposal from a candidate, with every
// knob scaled to [0, 1].
func (t *Tracker) Gap(row []float64, candidate int) float64 {
	var s float64
	for k, knob := range t.knobs {
		d := (row[k] - t.index[candidate][k]) / float64(len(knob.values)-1)
		s += d * d
	}
	return s
}
