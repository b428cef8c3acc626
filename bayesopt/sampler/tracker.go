package sampler

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/c-bata/goptuna"

	"knee/bayesopt"
	"knee/data"
	"knee/internal/list"
)

// Tracker represents a search as a goptuna study, with one parameter per knob
// and one trial per suggestion, for use with goptuna's samplers and storages.
//
// Every knob is an ordinal, the index of its value in ascending order, with a discrete
// uniform distribution of step 1. goptuna's samplers never draw the upper bound of its
// integer distributions, and draw categorical ones from the process-wide random source.
// Not safe for concurrent use.
type Tracker struct {
	study      *goptuna.Study
	opts       bayesopt.Options
	candidates []data.Config
	knobs      []ordinal
}

// ordinal is one knob with its sorted values.
type ordinal struct {
	name   string
	text   func(data.Config) string
	values []string
}

// NewTracker returns a tracker with an empty study called name over the candidates. The
// value of a trial is the objective in its natural unit, with its direction.
func NewTracker(name string, cands []data.Config, o bayesopt.Options, storage goptuna.Storage) (*Tracker, error) {
	o, err := o.Validate()
	if err != nil {
		return nil, err
	}
	t, space := &Tracker{opts: o, candidates: cands, knobs: ordinals(cands)}, map[string]interface{}{}
	for _, k := range t.knobs {
		space[k.name] = k.distribution()
	}
	direction := goptuna.StudyDirectionMinimize
	if o.Objective.Maximised() {
		direction = goptuna.StudyDirectionMaximize
	}
	t.study, err = goptuna.CreateStudy(name, goptuna.StudyOptionLogger(nil), goptuna.StudyOptionStorage(storage),
		goptuna.StudyOptionDirection(direction), goptuna.StudyOptionDefineSearchSpace(space))
	if err != nil {
		return nil, fmt.Errorf("create goptuna study %s: %w", name, err)
	}
	return t, nil
}

// ordinals returns the knobs that vary over the candidates, by name.
func ordinals(cands []data.Config) []ordinal {
	texts := map[string]func(data.Config) string{
		"gpu_type":    func(c data.Config) string { return c.GPUType },
		"mode":        func(c data.Config) string { return string(c.ModeOrDefault()) },
		"placement":   func(c data.Config) string { return c.Placement.String() },
		"nodes":       func(c data.Config) string { return strconv.Itoa(c.NodeCount()) },
		"workers":     func(c data.Config) string { return strconv.Itoa(c.Workers) },
		"ps":          func(c data.Config) string { return strconv.Itoa(c.PS) },
		"local_batch": func(c data.Config) string { return strconv.FormatFloat(c.LocalBatch, 'g', -1, 64) },
		"accum_steps": func(c data.Config) string { return strconv.Itoa(c.AccumSteps) },
	}
	for _, n := range data.LayoutNames() {
		texts[n] = func(c data.Config) string { return c.Get(n) }
	}
	for _, c := range cands {
		for n := range c.Extra {
			texts["x_"+n] = func(c data.Config) string { return c.Extra[n] }
		}
	}
	var all []ordinal
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		values := slices.Compact(slices.SortedFunc(slices.Values(list.Map(cands, texts[name])), compareValues))
		if len(values) > 1 {
			all = append(all, ordinal{name, texts[name], values})
		}
	}
	return all
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

func (k ordinal) distribution() goptuna.DiscreteUniformDistribution {
	return goptuna.DiscreteUniformDistribution{Low: 0, High: float64(len(k.values) - 1), Q: 1}
}

// Start records the start of a trial of a candidate and returns its id.
func (t *Tracker) Start(c data.Config) (trialID int, err error) {
	if !slices.ContainsFunc(t.candidates, func(known data.Config) bool { return known.Key() == c.Key() }) {
		return 0, fmt.Errorf("%s is not a candidate of the study", c)
	}
	id, err := t.study.Storage.CreateNewTrial(t.study.ID)
	for _, knob := range t.knobs {
		if err == nil {
			err = t.study.Storage.SetTrialParam(id, knob.name, float64(slices.Index(knob.values, knob.text(c))), knob.distribution())
		}
	}
	if err != nil {
		return 0, fmt.Errorf("start trial of %s: %w", c, err)
	}
	return id, nil
}

// Finish records the result of a trial. A trial without a finite value is
// recorded as failed: goptuna's databases would store 0.
func (t *Tracker) Finish(trialID int, m data.Measurement) (err error) {
	storage, state := t.study.Storage, goptuna.TrialStateFail
	if value, ok := t.opts.Value(m); ok {
		state, err = goptuna.TrialStateComplete, storage.SetTrialValue(trialID, value)
	}
	if err == nil {
		err = storage.SetTrialUserAttr(trialID, "status", string(m.Status))
	}
	if err == nil {
		err = storage.SetTrialState(trialID, state)
	}
	if err != nil {
		return fmt.Errorf("finish trial of %s: %w", m.Config, err)
	}
	return nil
}
