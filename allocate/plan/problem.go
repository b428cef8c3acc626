package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/allocate/place"
	"knee/data"
	"knee/predict"
)

// Problem is a cluster, the jobs that want it, and what is known about them.
type Problem struct {
	Cluster    *data.Cluster
	Jobs       []data.Job                    // names must differ
	Predictors map[string]*predict.Predictor // by job name; goal, batch and price are filled in from job and cluster where empty
	Objective  string                        // empty: jct; see [Objectives]
	Policy     string                        // what the plan calls the policy
	Needs      []string                      // fields of jobs.yaml that the policy cannot do without; see [data.Job.States]
	Seed       int64                         // recorded in the plan; the policies of this package draw nothing
	Inputs     []data.Input                  // recorded in the plan
	Risk       float64                       // see [Subject]; 0 plans with expected speeds
	Hysteresis float64                       // see [Subject]; seconds beyond its restart that a change must be worth
	Sizes      string                        // which numbers of workers are offered; see [SizeSets]
	Apart      bool                          // no node holds parts of two jobs that stand on several nodes
	KeepBatch  bool                          // every job keeps its initial batch, whether it may adapt it or not
	Strict     bool                          // a job that the empty cluster cannot hold is an error and not a warning
	FairSlots  int                           // worker slots that an equal share is a part of; 0: those of the cluster. Set it to compare clusters
}

// Infeasible is the error of a problem that no plan solves: not one job
// fits, or, of a strict problem, not every one.
type Infeasible struct {
	Reasons []string // one line per job that does not fit: the binding constraint and the nearest feasible change
	Some    bool     // other jobs do fit
}

// Error implements error.
func (e *Infeasible) Error() string {
	if e.Some {
		return "not every job fits the cluster: " + strings.Join(e.Reasons, "; ")
	}
	return "no job fits the cluster: " + strings.Join(e.Reasons, "; ")
}

// prepared is a problem with its option tables.
type prepared struct {
	Problem
	objective  objective.Objective
	oracles    []oracle
	subjects   []objective.Subject
	state      allocate.State
	standing   []place.Standing
	infeasible map[int]string // by job: why its table is empty
	capacity   *allocate.Capacity
	clusterFit *clusterFit
	slots      int // worker slots that an equal share is a part of
}

// oraclesOf completes the predictors of a problem.
func oraclesOf(pr Problem) ([]oracle, error) {
	if pr.Cluster == nil || len(pr.Cluster.Nodes) == 0 {
		return nil, errors.New("allocate: the cluster has no nodes")
	}
	var out []oracle
	in, known := newClusterFit(pr.Cluster), batches{}
	price := map[string]float64{}
	for _, t := range in.types {
		price[t] = pr.Cluster.PricePerGPU(t)
	}
	for _, job := range pr.Jobs {
		p := pr.Predictors[job.Name]
		if p == nil || p.Model == nil {
			return nil, inputError(job, "model", "nothing", "a fitted model for job "+job.Name)
		}
		full := *p
		if full.Batch == (data.Batch{}) {
			full.Batch = job.Batch
		}
		if full.Price == nil {
			full.Price = price
		}
		o := modelled{&full, known}
		if full.Goal == (predict.Goal{}) {
			g, err := goalOf(job, o, in)
			if err != nil && newFit(job, o, in) {
				return nil, ofJob(job, err)
			}
			full.Goal = g
		}
		out = append(out, o)
	}
	return out, nil
}

// newFit reports whether a job has any shape on the cluster, so that a
// failure to predict is the model's and not a matter of room.
func newFit(job data.Job, o oracle, in *clusterFit) bool {
	return len(shapes(job, o, in)) > 0
}

// prepare checks a problem and builds its option tables.
func prepare(pr Problem, oracles []oracle) (*prepared, error) {
	goal, err := objective.New(pr.Objective)
	if err != nil {
		return nil, err
	}
	if err := checkProblem(pr); err != nil {
		return nil, err
	}
	p := &prepared{Problem: pr, objective: goal, oracles: oracles, infeasible: map[int]string{},
		state: allocate.State{Cluster: pr.Cluster}, clusterFit: newClusterFit(pr.Cluster), slots: pr.FairSlots}
	p.clusterFit.sizes = pr.Sizes
	if p.slots == 0 {
		p.slots = pr.Cluster.Slots()
	}
	for i, job := range pr.Jobs {
		if err := p.addJob(i, job); err != nil {
			return nil, err
		}
	}
	if n := len(p.infeasible); n == len(pr.Jobs) || pr.Strict && n > 0 {
		e := &Infeasible{Some: n < len(pr.Jobs)}
		for i := range pr.Jobs {
			if m, ok := p.infeasible[i]; ok {
				e.Reasons = append(e.Reasons, m)
			}
		}
		return nil, e
	}
	p.capacity = allocate.NewCapacity(p.Cluster)
	return p, nil
}

func checkProblem(pr Problem) error {
	switch {
	case pr.Cluster == nil || len(pr.Cluster.Nodes) == 0:
		return errors.New("allocate: the cluster has no nodes")
	case len(pr.Jobs) == 0:
		return &data.InputError{Source: data.Source{Column: "jobs"}, Found: "there are no jobs", Want: "at least one"}
	case math.IsNaN(pr.Risk) || pr.Risk < 0 || pr.Risk > 1:
		return fmt.Errorf("allocate: risk %g, want a number from 0 to 1", pr.Risk)
	case !(pr.Hysteresis >= 0) || math.IsInf(pr.Hysteresis, 1):
		return fmt.Errorf("allocate: hysteresis %g, want seconds ≥ 0", pr.Hysteresis)
	case pr.Sizes != "" && !slices.Contains(SizeSets(), pr.Sizes):
		return fmt.Errorf("allocate: sizes %q, want one of %s", pr.Sizes, strings.Join(SizeSets(), ", "))
	}
	nodes := map[string]bool{}
	for _, n := range pr.Cluster.Nodes {
		if nodes[n.Name] {
			return fmt.Errorf("allocate: the cluster has node %q twice", n.Name)
		}
		nodes[n.Name] = true
	}
	seen := map[string]bool{}
	for _, j := range pr.Jobs {
		if seen[j.Name] {
			return inputError(j, "name", fmt.Sprintf("%q a second time", j.Name), "a name for each job")
		}
		seen[j.Name] = true
		if j.Workers.Max > 0 && j.Workers.Min > j.Workers.Max {
			return inputError(j, "workers", fmt.Sprintf("min %d, max %d", j.Workers.Min, j.Workers.Max), "min ≤ max")
		}
		if err := checkCurrent(j, nodes); err != nil {
			return err
		}
	}
	return nil
}

// checkCurrent refuses a job that runs where there is nothing. A node that
// failed belongs in the cluster file, as drained.
func checkCurrent(j data.Job, nodes map[string]bool) error {
	if j.Current == nil {
		return nil
	}
	for _, n := range j.Current.Nodes {
		if !nodes[n] {
			return inputError(j, "current.nodes", fmt.Sprintf("%q", n), "nodes of the cluster file, drained ones included")
		}
	}
	return nil
}

// addJob builds the table of one job. A job that does not fit gets an empty
// one; a model that cannot answer is an error.
func (p *prepared) addJob(i int, job data.Job) error {
	o := p.oracles[i]
	s := objective.Subject{Job: job, Risk: p.Risk, Hysteresis: p.Hysteresis}
	options, err := buildOptions(job, o, p.clusterFit)
	if err != nil {
		return ofJob(job, err)
	}
	if len(options) == 0 {
		p.infeasible[i] = whyInfeasible(job, o, p.clusterFit)
	} else {
		if s.Reference, err = reference(job, o, p.clusterFit); err != nil {
			s.Reference = options[0].Answer
		}
		s.Fair = fairSpeed(s, options, max(1, p.slots/len(p.Jobs)))
		if asked := job; p.KeepBatch && job.Batch.Adapt && job.Batch.Initial > 0 { // speeds are compared with those of the batch it may have
			asked.Batch.Adapt = false
			if options, err = buildOptions(asked, o, p.clusterFit); err != nil {
				return ofJob(job, err)
			}
		}
		objective.SetValues(p.objective, s, options)
	}
	js := allocate.JobState{Name: job.Name, Options: options, Idle: p.objective.Idle(s), Current: allocate.None, Weight: s.Weight(),
		Requested: job.Workers.Min, Remaining: s.Reference.TimeToTarget.Mean}
	for n, x := range options {
		if x.Keeps {
			js.Current, js.Requested = n, x.Config.Workers
		}
	}
	p.subjects = append(p.subjects, s)
	p.state.Jobs = append(p.state.Jobs, js)
	p.standing = append(p.standing, place.Standing{Resources: job.Resources, Current: currentShares(job), Apart: p.Apart})
	return nil
}

// ofJob says which job of which file an error is about that a predictor made,
// which knows neither.
func ofJob(job data.Job, err error) error {
	var input *data.InputError
	if errors.As(err, &input) && input.File == "" {
		return inputError(job, input.Column, input.Found, input.Want)
	}
	return err
}

// fairSpeed is the best goodput with at most share workers, or with as few
// as the job can have.
func fairSpeed(s objective.Subject, options []allocate.Option, share int) float64 {
	smallest := options[0].Use.GPUs
	for _, o := range options {
		smallest = min(smallest, o.Use.GPUs)
	}
	var best float64
	for _, o := range options {
		if o.Use.GPUs <= max(share, smallest) {
			best = math.Max(best, s.Speed(o.Answer))
		}
	}
	return best
}

// currentShares is where a job stands, nil if nodes are not named.
func currentShares(job data.Job) []data.NodeShare {
	if job.Current == nil || len(job.Current.Nodes) != len(job.Current.Placement) {
		return nil
	}
	var out []data.NodeShare
	for i, n := range job.Current.Nodes {
		out = append(out, data.NodeShare{Node: n, Workers: job.Current.Placement[i]})
	}
	return out
}
