package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/allocate/place"
	"knee/data"
	"knee/internal/grouped"
	"knee/internal/parallel"
	"knee/predict"
)

// prepared is a problem with its option tables. Slices are parallel to Jobs.
type prepared struct {
	Problem
	objective  objective.Objective
	oracles    []oracle
	subjects   []objective.Subject
	state      allocate.State // of the cluster without occupants
	standing   []place.Request
	aims       []func(*predict.Answer) error
	infeasible map[int]string // by job: why it cannot be planned
	occupants  map[int]occupant
	lost       map[int]string // by job: the missing node it ran on
	unknown    map[int]string // by job: a missing node that it may use
	fit        *clusterFit
	tables     tables
	policy     string                  // that chooses in place of marginal gain; empty: none
	explain    func(job string) string // why the policy gave a job nothing, empty if it does not know; nil: it never does
	offered    []*table                // of the options of a job; nil if it cannot be planned
}

// year is in seconds; a goal that takes longer than longest is never reached.
const year, longest = 365.25 * 86400, 1e9

// oraclesOf completes the predictors of the jobs, nil for a job without one.
func oraclesOf(pr Problem) []oracle {
	price := pr.price
	if price == nil {
		price = pricesOf(pr.Cluster)
	}
	out := make([]oracle, len(pr.Jobs))
	for i, job := range pr.Jobs {
		p := pr.Predictors[job.Name]
		if p == nil || p.Model == nil {
			continue
		}
		full := *p
		if full.Batch == (data.Batch{}) {
			full.Batch = job.Batch
		}
		if full.Price == nil {
			full.Price = price
		}
		out[i] = modelled{&full}
	}
	return out
}

// pricesOf is the US$ per GPU-hour by GPU type.
func pricesOf(c *data.Cluster) map[string]float64 {
	price := map[string]float64{}
	if c != nil {
		for _, t := range c.GPUTypes() {
			price[t], _, _ = c.PricePerGPU(t)
		}
	}
	return price
}

// prepare checks a problem and builds the state of the jobs that can be planned.
func prepare(pr Problem, oracles []oracle) (*prepared, error) {
	goal, err := objective.New(pr.Objective)
	if err != nil {
		return nil, err
	}
	if !pr.leftover { // else it is a part of one that was checked
		if err := checkProblem(pr); err != nil {
			return nil, err
		}
	}
	p := &prepared{Problem: pr, objective: goal, oracles: slices.Clone(oracles), infeasible: map[int]string{}, lost: map[int]string{}, unknown: map[int]string{}}
	p.Jobs = slices.Clone(pr.Jobs)
	p.present()
	why := map[int]string{}
	for i := range p.Jobs {
		if p.oracles[i] == nil {
			why[i] = pr.Unusable[p.Jobs[i].Name]
		} else if err := checkNeeds(pr, p.Jobs[i]); err != nil {
			return nil, err
		}
	}
	for { // a job without predictions becomes an occupant, which leaves less for others
		failed := p.predict(why)
		if len(failed) == 0 {
			break
		}
		clear(p.infeasible)
		for i, err := range failed {
			p.oracles[i], why[i] = nil, err.Error()
		}
	}
	if n := len(p.infeasible); n == len(p.Jobs) && !pr.leftover || pr.Strict && n > 0 {
		e := &Infeasible{Some: n < len(p.Jobs)}
		for i := range p.Jobs {
			if m, ok := p.infeasible[i]; ok {
				e.Reasons = append(e.Reasons, fmt.Sprintf("job %q: %s", p.Jobs[i].Name, m))
			}
		}
		return nil, e
	}
	return p, nil
}

// present makes deadlines relative to Now, and stops jobs whose nodes are gone.
func (p *prepared) present() {
	p.ran = maps.Clone(p.ran)
	if p.ran == nil {
		p.ran = map[string]*data.Current{}
	}
	_, nodes := grouped.By(p.Cluster.Nodes, func(n data.Node) string { return n.Name })
	unknown := func(n string) bool { return len(nodes[n]) == 0 }
	for i := range p.Jobs {
		job := &p.Jobs[i]
		job.Deadline = time.Duration(job.Due(p.Now) * float64(time.Second))
		if n := slices.IndexFunc(job.Nodes, unknown); n >= 0 {
			p.unknown[i] = job.Nodes[n]
		}
		if job.Current == nil {
			continue
		}
		if n := slices.IndexFunc(job.Current.Nodes, unknown); n >= 0 {
			p.lost[i], p.ran[job.Name], job.Current = job.Current.Nodes[n], job.Current, nil
		}
	}
}

// predict fills the tables of all jobs that have an oracle and makes their state. It
// returns the jobs that cannot be predicted; the state is then incomplete.
func (p *prepared) predict(why map[int]string) map[int]error {
	free := p.occupy(why)
	p.fit = newClusterFit(free)
	p.fit.sizes, p.fit.equal = p.Sizes, p.EqualNodes
	n := len(p.Jobs)
	asked, kept := make([]*table, n), make([]*table, n)
	p.offered = make([]*table, n)
	p.tables = tables{at: map[tableKey]*table{}, cache: p.Cache}
	for i, job := range p.Jobs {
		if p.oracles[i] == nil {
			continue
		}
		if asked[i] = p.tables.add(i, job, p.oracles[i], p.fit); p.KeepBatch && job.Batch.Adapt && job.Batch.Initial > 0 {
			job.Batch.Adapt = false
			kept[i] = p.tables.add(n+i, job, p.oracles[i], p.fit)
		}
		p.offered[i] = cmp.Or(kept[i], asked[i])
	}
	p.tables.fill()
	p.subjects, p.standing, p.aims = make([]objective.Subject, n), make([]place.Request, n), make([]func(*predict.Answer) error, n)
	held := make([]data.PlannedJob, n)
	for i, o := range p.occupants {
		held[i] = o.planned(p.Jobs[i])
	}
	p.state = allocate.State{Cluster: free, Jobs: make([]allocate.JobState, n), Tenants: byName(remaining(p.Tenants, held, p.Jobs))}
	standing := make([]data.Config, n)
	for i, job := range p.Jobs {
		p.standing[i].Only = p.fit.only(job)
		if c, ok := running(job, p.fit); ok && p.oracles[i] != nil && p.drained(job) == "" {
			standing[i] = c
		}
	}
	share := max(1, cmp.Or(p.FairSlots, free.Slots())/max(1, n-len(p.occupants)))
	errs := make([]error, n)
	parallel.Do(n, 16, func(i int) {
		errs[i] = ofJob(p.Jobs[i], p.addJob(i, asked[i], kept[i], standing[i], share))
	})
	for _, x := range p.tables.list { // the options are copies
		x.release()
	}
	failed := map[int]error{}
	for i, err := range errs {
		switch {
		case err != nil:
			failed[i] = err
		case p.oracles[i] != nil && len(p.state.Jobs[i].Options) == 0:
			reason := whyInfeasible(p.Jobs[i], p.oracles[i], p.fit)
			if p.Jobs[i].Current != nil && p.drained(p.Jobs[i]) == "" {
				failed[i] = errors.New(reason)
			}
			p.infeasible[i] = reason
		}
	}
	return failed
}

// drained is the first drained node that a running job has, empty if none.
func (p *prepared) drained(job data.Job) string {
	if job.Current == nil {
		return ""
	}
	for i := range p.Cluster.Nodes {
		if n := &p.Cluster.Nodes[i]; n.Drained && slices.Contains(job.Current.Nodes, n.Name) {
			return n.Name
		}
	}
	return ""
}

// addJob makes the state of one job from its table x, or from kept, that of its initial
// batch, if it is not nil; the reference speed is from x. A job that does not fit gets no
// options.
func (p *prepared) addJob(i int, x, kept *table, standing data.Config, share int) error {
	job := p.Jobs[i]
	s := objective.Subject{Job: job, Risk: p.Risk, Hysteresis: p.Hysteresis}
	js := allocate.JobState{Name: job.Name, Current: allocate.None, Weight: s.Weight(),
		Requested: cmp.Or(job.Requested, job.Workers.Min), History: history(job, p.Hysteresis)}
	if !job.Submitted.IsZero() {
		js.Submitted = job.Submitted.Sub(p.Now).Seconds()
	}
	if job.History != nil {
		js.Attained = *cmp.Or(job.History.GPUSeconds, new(float64))
	}
	defer func() { p.subjects[i], p.state.Jobs[i] = s, js }()
	if x == nil {
		return nil
	}
	p.standing[i] = place.Request{Resources: job.Resources, Current: job.Current.Parts(), Only: p.standing[i].Only, Apart: p.Apart}
	js.Idle = p.objective.Idle(s)
	if len(x.shapes) == 0 {
		return nil
	}
	smallest, err := x.smallest()
	if err != nil {
		return fmt.Errorf("no configuration can be planned, the first: %w", err)
	}
	aim, err := p.aim(i, smallest, x.oracle)
	if err != nil {
		return err
	}
	p.aims[i] = aim
	offered := cmp.Or(kept, x)
	// The batch changes while a job runs, but what runs fits in memory whatever its model
	// says, and another layout takes a restart.
	ask := func(c data.Config) (predict.Answer, error) {
		if c.Plain() {
			if a, err := p.Cache.answer(offered.job, offered.oracle, c); err == nil && place.Same(a.Config, c) {
				return a, nil
			}
		}
		if c.LocalBatch > 0 {
			return x.oracle.At(c)
		}
		return answerAt(offered.job, x.oracle, c)
	}
	options := offered.options(job, standing, ask)
	s.Reference = smallest
	if err := aim(&s.Reference); err != nil {
		return err
	}
	s.Fair = x.fairSpeed(s, share)
	if _, err := offered.smallest(); err != nil && len(options) == 0 {
		return fmt.Errorf("no configuration can be planned with its initial batch, the first: %w", err)
	}
	soonest := math.Inf(1)
	for n := range options {
		if err := aim(&options[n].Answer); err != nil {
			return err
		}
		soonest = math.Min(soonest, options[n].TimeToTarget.Mean)
		if options[n].Keeps {
			js.Current = n
			js.Requested = cmp.Or(job.Requested, options[n].Config.Workers)
		}
	}
	if len(options) > 0 && soonest > longest {
		return fmt.Errorf("no configuration reaches its goal within %.3g years, the fastest takes %.3g: check remaining and batch",
			longest/year, soonest/year)
	}
	objective.SetValues(p.objective, s, options)
	js.Options, js.Remaining = options, s.Reference.TimeToTarget.Mean
	return nil
}

func history(job data.Job, hysteresis float64) allocate.History {
	h := allocate.History{Tenant: job.Tenant, Restart: job.RestartSeconds + hysteresis}
	if known := job.History; known != nil {
		h.Progress, h.Ran = *cmp.Or(known.Progress, new(float64)), *cmp.Or(known.Seconds, new(float64))
		h.Restarts, h.ByType = *cmp.Or(known.Restarts, new(int)), known.ByType
	}
	return h
}

// ofJob adds job and file to an error of a predictor.
func ofJob(job data.Job, err error) error {
	if input, ok := errors.AsType[*data.InputError](err); ok && input.File == "" {
		return inputError(job, input.Column, input.Found, input.Want)
	}
	return err
}

// aim returns how to add remaining time and cost to an answer for a job: by its
// predictor, or not at all where answers carry them already. Seconds left become the
// samples that the job's present allocation, or the last if its nodes are gone, or its
// smallest if it had none, processes in that time.
func (p *prepared) aim(i int, smallest predict.Answer, o oracle) (func(*predict.Answer) error, error) {
	m, ok := p.oracles[i].(modelled)
	if !ok {
		return func(*predict.Answer) error { return nil }, nil
	}
	full := *m.Predictor
	if full.Goal == (predict.Goal{}) {
		var err error
		job := p.Jobs[i]
		job.Current = cmp.Or(job.Current, p.ran[job.Name])
		if full.Goal, err = goalOf(job, smallest, o); err != nil {
			return nil, err
		}
	}
	return full.Finisher()
}

func goalOf(job data.Job, smallest predict.Answer, o oracle) (predict.Goal, error) {
	r := job.Remaining
	switch {
	case r.HasTarget:
		return predict.Goal{TargetLoss: r.TargetLoss, HasTarget: true}, nil
	case r.Steps > 0:
		return predict.Goal{Steps: r.Steps}, nil
	case r.Epochs > 0:
		if r.Dataset <= 0 || math.IsInf(r.Dataset, 0) {
			return predict.Goal{}, inputError(job, "remaining.dataset", fmt.Sprint(r.Dataset), "the samples of one epoch, > 0, beside epochs")
		}
		return predict.Goal{Samples: r.Epochs * r.Dataset}, nil
	case r.Seconds > 0:
		now := smallest
		if job.Current != nil {
			var err error
			if c := job.Current.Config(); c.LocalBatch > 0 {
				now, err = o.At(c)
			} else {
				now, err = answer(job, o, c)
			}
			if err != nil {
				return predict.Goal{}, fmt.Errorf("remaining.seconds of job %q: speed of its present allocation: %w", job.Name, err)
			}
		}
		return predict.Goal{Samples: r.Seconds * now.Goodput.Mean}, nil
	}
	return predict.Goal{}, nil
}
