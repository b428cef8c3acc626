package plan

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"golang.org/x/sync/errgroup"

	"knee/data"
	"knee/fit"
	"knee/internal/grouped"
	"knee/internal/parallel"
	"knee/predict"
)

// Problem is a cluster, its jobs and their predictors, and the settings of a plan.
type Problem struct {
	Cluster    *data.Cluster
	Jobs       []data.Job // names must differ
	Tenants    []data.Tenant
	Now        time.Time                     // what submissions and deadlines are counted from
	Predictors map[string]*predict.Predictor // by job name; empty goal, batch and price are those of job and cluster
	Unusable   map[string]string             // by job name: why it has no predictor
	Cache      *Cache                        // predictions of earlier plans; nil: none
	Objective  string                        // see [objective.Names]; empty: jct
	Policy     string                        // name of the policy, for the plan and messages
	Needs      []string                      // fields of jobs.yaml that the policy needs; see [data.Job.States]
	Gang       bool                          // the policy gives jobs the size that they requested
	Seed       int64                         // recorded in the plan, not used
	Inputs     []data.Input                  // recorded in the plan
	Risk       float64                       // see [objective.Subject]; 0 plans with expected times
	Hysteresis float64                       // see [objective.Subject]; seconds beyond its restart that a change must be worth
	Sizes      string                        // which numbers of workers are offered; see [SizeSets]
	EqualNodes bool                          // every node of a job holds the same number of its workers, as Slurm needs it
	Apart      bool                          // no node is shared by two jobs that span nodes
	KeepBatch  bool                          // every job keeps its initial batch, also if it may adapt
	Resolve    bool                          // prices are checked by solving with one GPU more and one less, and jobs by what knowing them is worth
	Strict     bool                          // a job that cannot be planned is an error, not a warning
	leftover   bool                          // opportunistic jobs on what others leave: a plan, even if none can be planned
	ran        map[string]*data.Current      // by job name: what it ran on, of one that starts anew
	price      map[string]float64            // US$ per GPU-hour by GPU type; nil: of the cluster
	FairSlots  int                           // worker slots that equal shares divide, the same for clusters to be compared; 0: those of the cluster
}

// Infeasible is the error if no job can be planned or, with Strict, if one cannot.
type Infeasible struct {
	Reasons []string // of each that cannot: the binding constraint and the nearest feasible change
	Some    bool     // other jobs can be planned
}

// Error implements error.
func (e *Infeasible) Error() string {
	text, most := "no job can be planned: ", 10
	if e.Some {
		text = "not every job can be planned: "
	}
	text += strings.Join(e.Reasons[:min(len(e.Reasons), most)], "; ")
	if more := len(e.Reasons) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func checkProblem(pr Problem) error {
	switch {
	case pr.Cluster == nil || len(pr.Cluster.Nodes) == 0:
		return &Infeasible{Reasons: []string{"the cluster has no nodes"}}
	case len(pr.Jobs) == 0:
		return &data.InputError{Source: data.Source{Column: "jobs"}, Found: "there are no jobs", Want: "at least one"}
	case math.IsNaN(pr.Risk) || pr.Risk < 0 || pr.Risk > 1:
		return fmt.Errorf("plan: risk %g, want a number from 0 to 1", pr.Risk)
	case !(pr.Hysteresis >= 0) || math.IsInf(pr.Hysteresis, 1):
		return fmt.Errorf("plan: hysteresis %g, want seconds ≥ 0", pr.Hysteresis)
	case pr.Sizes != "" && !slices.Contains(SizeSets(), pr.Sizes):
		return fmt.Errorf("plan: sizes %q, want one of %s", pr.Sizes, strings.Join(SizeSets(), ", "))
	}
	held := holdings{nodes: map[string]data.Node{}, widest: map[string]int{}, of: map[string]int{}}
	for _, n := range pr.Cluster.Nodes {
		if _, twice := held.nodes[n.Name]; twice {
			return fmt.Errorf("plan: the cluster has node %q twice", n.Name)
		}
		held.nodes[n.Name], held.widest[n.GPUType] = n, max(held.widest[n.GPUType], n.GPUs)
	}
	owners := map[string]bool{}
	for _, t := range pr.Tenants {
		if owners[t.Name] {
			return &data.InputError{Source: t.Source, Found: fmt.Sprintf("%q a second time", t.Name), Want: "each tenant once"}
		}
		owners[t.Name] = true
	}
	seen := map[string]bool{}
	for _, j := range pr.Jobs {
		if seen[j.Name] {
			return inputError(j, "name", fmt.Sprintf("%q a second time", j.Name), "a name for each job")
		}
		seen[j.Name] = true
		if n := float64(j.LogicalWorkers); n > 0 && (j.Batch.Adapt || j.Batch.Initial <= 0 || math.Mod(j.Batch.Initial, n) != 0) {
			return inputError(j, "logical_workers", fmt.Sprintf("%g with a batch of %g, adapt %t", n, j.Batch.Initial, j.Batch.Adapt),
				"a number that divides batch.initial, and a batch that is not adapted")
		}
		if j.Workers.Max > 0 && j.Workers.Min > j.Workers.Max {
			return inputError(j, "workers", fmt.Sprintf("min %d, max %d", j.Workers.Min, j.Workers.Max), "min ≤ max")
		}
		if err := held.add(j); err != nil {
			return err
		}
	}
	return nil
}

// holdings are the worker slots that running jobs hold.
type holdings struct {
	nodes  map[string]data.Node
	widest map[string]int // slots of the widest node, by GPU type
	of     map[string]int // by node: those held
}

// add refuses a job that runs on another GPU type than its node has, or, with the jobs
// before it, on more slots; or on more than any node of the type has if its nodes are not
// named. A scheduler's word counts: of a live job a GPU may have failed.
func (h holdings) add(j data.Job) error {
	if j.Current == nil || j.ID != "" {
		return nil
	}
	for i, workers := range j.Current.Placement {
		found := fmt.Sprintf("%s of job %s on ", english.Plural(workers, "worker", ""), j.Name)
		if i >= len(j.Current.Nodes) {
			if most, known := h.widest[j.Current.GPUType]; known && workers > most {
				return inputError(j, "current.placement", found+"one node", fmt.Sprintf("at most %d, as a node of type %s has", most, j.Current.GPUType))
			}
			continue
		}
		n, known := h.nodes[j.Current.Nodes[i]]
		if !known {
			continue
		}
		if n.GPUType != j.Current.GPUType {
			return inputError(j, "current.gpu_type", j.Current.GPUType+" on node "+n.Name, n.GPUType+", as it has")
		}
		before := h.of[n.Name]
		if h.of[n.Name] += workers; h.of[n.Name] > n.GPUs {
			want := fmt.Sprintf("at most %d, as it has", n.GPUs)
			if before > 0 {
				want += fmt.Sprintf("; %d of them taken", before)
			}
			return inputError(j, "current.placement", found+"node "+n.Name, want)
		}
	}
	return nil
}

// checkNeeds refuses a job that lacks a field that the policy needs.
func checkNeeds(pr Problem, job data.Job) error {
	for _, field := range pr.Needs {
		if !job.States(field) {
			return inputError(job, field, "nothing", "what policy "+pr.Policy+" goes by")
		}
	}
	return nil
}

func inputError(job data.Job, field, found, want string) error {
	src := job.Source
	src.Column = field
	if src.File == "" {
		src = data.Source{File: "job " + job.Name, Column: field}
	}
	return &data.InputError{Source: src, Found: found, Want: want}
}

// Load loads a cluster, jobs and their models; a job whose model cannot be read is Unusable.
func Load(clusterFile, jobsFile string) (Problem, error) {
	pr := Problem{Predictors: map[string]*predict.Predictor{}, Unusable: map[string]string{}, Cache: &Cache{}}
	var g errgroup.Group
	g.Go(func() (err error) {
		pr.Cluster, err = data.Load(clusterFile, data.ReadCluster)
		return err
	})
	f, err := data.Load(jobsFile, data.ReadJobs)
	if err := cmp.Or(g.Wait(), err); err != nil {
		return pr, err
	}
	pr.Jobs, pr.Tenants = f.Jobs, f.Tenants
	for _, path := range []string{clusterFile, jobsFile} {
		in, err := inputOf(path)
		if err != nil {
			return pr, err
		}
		pr.Inputs = append(pr.Inputs, in)
	}
	pr.AddModels(pr.Jobs, jobsFile)
	return pr, nil
}

// AddModels loads the models of jobs of jobsFile and adds their files to the inputs.
func (pr *Problem) AddModels(jobs []data.Job, jobsFile string) {
	var with []int
	for i := range jobs {
		if jobs[i].Model != "" {
			with = append(with, i)
		}
	}
	paths, users := grouped.By(with, func(i int) string { return data.Source{File: jobsFile}.Beside(jobs[i].Model) })
	models, inputs, errs := make([]*fit.Model, len(paths)), make([]data.Input, len(paths)), make([]error, len(paths))
	parallel.Do(len(paths), 1, func(n int) {
		if models[n], errs[n] = fit.ReadModel(paths[n]); errs[n] == nil {
			inputs[n], errs[n] = inputOf(paths[n])
		}
	})
	for n, path := range paths {
		if errs[n] == nil {
			pr.Inputs = append(pr.Inputs, inputs[n])
		}
		for _, i := range users[path] {
			job := &jobs[i]
			if errs[n] != nil {
				pr.Unusable[job.Name] = fmt.Sprintf("its model cannot be used: %v", errs[n])
				continue
			}
			if !job.RestartGiven {
				job.RestartSeconds = models[n].StartSeconds()
			}
			pr.Predictors[job.Name] = &predict.Predictor{Model: models[n], Accumulate: job.Batch.Adapt || models[n].Batch().Adapt}
		}
	}
}

func inputOf(path string) (data.Input, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return data.Input{}, fmt.Errorf("read an input of the plan: %w", err)
	}
	return data.InputOf(path, text), nil
}
