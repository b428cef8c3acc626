package plan

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/allocate/place"
	"knee/data"
	"knee/fit"
	"knee/internal/list"
	"knee/internal/parallel"
	"knee/predict"
)

// oracle is what planning uses of a predictor; tests plan jobs of known speed.
type oracle interface {
	At(data.Config) (predict.Answer, error)
	BestBatch(data.Config) (predict.Answer, error)
	GPUTypes() []string
	Modes(gpuType string) []data.Mode
}

// modelled is the oracle of a fitted model.
type modelled struct{ *predict.Predictor }

func (m modelled) GPUTypes() []string { return m.Model.GPUTypes() }

func (m modelled) Modes(gpuType string) []data.Mode { return m.Model.Modes(gpuType) }

// modelKey is equal for predictors that answer alike, but for goal and prices.
type modelKey struct {
	model      *fit.Model
	accumulate bool
	ofModel    data.Batch
}

func (m modelled) key() modelKey { return modelKey{m.Model, m.Accumulate, m.Batch} }

// aimless is an oracle without remaining work and prices, which differ between jobs of
// one model.
func aimless(o oracle) oracle {
	m, ok := o.(modelled)
	if !ok {
		return o
	}
	return modelled{&predict.Predictor{Model: m.Model, Batch: m.Batch, Accumulate: m.Accumulate}}
}

// table has the predictions of one model for the shapes of one kind of job.
type table struct {
	job     data.Job // the first of its kind
	oracle  oracle   // aimless
	shapes  []data.Config
	answers []predict.Answer
	errs    []error
	unfit   []data.Config // the shapes that may run out of memory
}

// tableKey says which jobs have the same table.
type tableKey struct {
	modelKey
	kind  string // of the job, all that its shapes and batches depend on
	alone int    // number of a job whose oracle no other job has
}

// tables are those of a problem.
type tables struct {
	list  []*table
	at    map[tableKey]*table
	cache *Cache
}

// add returns the table of a job, which fill fills.
func (t *tables) add(i int, job data.Job, o oracle, in *clusterFit) *table {
	current := 0
	if job.Current != nil {
		current = job.Current.Placement.Workers()
	}
	key := tableKey{kind: fmt.Sprint(job.Batch, job.LogicalWorkers, job.GPUTypes, job.Nodes, job.Modes,
		job.Workers, job.PS, job.Resources.Worker, current)}
	if m, ok := o.(modelled); ok {
		key.modelKey = m.key()
	} else {
		key.alone = i + 1
	}
	if known := t.at[key]; known != nil {
		return known
	}
	all := shapes(job, o, in)
	made := &table{job: job, oracle: aimless(o), shapes: all, answers: make([]predict.Answer, len(all)), errs: make([]error, len(all))}
	t.at[key], t.list = made, append(t.list, made)
	return made
}

// mostPredictions is the number of shapes, a second or two of work, above which only
// coarse ones are predicted: of many jobs, few sizes of each suffice.
const mostPredictions = 20_000

// fill predicts the shapes of all tables on all processors.
func (t *tables) fill() {
	all := list.Sum(t.list, func(x *table) int { return len(x.shapes) })
	var work []func()
	for _, x := range t.list {
		for n, coarse := range x.coarse() {
			if coarse || all <= mostPredictions || len(t.list) == 1 {
				work = append(work, func() { x.answers[n], x.errs[n] = t.cache.answer(x.job, x.oracle, x.shapes[n]) })
			}
		}
	}
	parallel.Do(len(work), 8, func(i int) { work[i]() })
}

// coarse reports, for every shape, whether its number of workers is a power of two, three
// halves of one, or the first or last of its GPU type and mode. Between such sizes a
// concave power of the workers lies at most 0.6 % above the chord.
func (x *table) coarse() []bool {
	out := make([]bool, len(x.shapes))
	round := func(w int) bool { return w&(w-1) == 0 }
	for from := 0; from < len(x.shapes); {
		first, to := x.shapes[from], from
		for to < len(x.shapes) && x.shapes[to].GPUType == first.GPUType && x.shapes[to].Mode == first.Mode {
			to++
		}
		for n := from; n < to; n++ {
			w := x.shapes[n].Workers
			out[n] = round(w) || w%3 == 0 && round(w/3) || w == first.Workers || w == x.shapes[to-1].Workers
		}
		from = to
	}
	return out
}

// smallest is the smallest allocation that can be predicted: the reference of the job's
// speed.
func (x *table) smallest() (predict.Answer, error) {
	best := -1
	var failed error
	for n := range x.shapes {
		smaller := best < 0 || x.shapes[n].Workers < x.shapes[best].Workers
		switch {
		case x.errs[n] != nil && failed == nil:
			failed = fmt.Errorf("%s: %w", x.shapes[n], x.errs[n])
		case x.errs[n] == nil && x.answers[n].Goodput.Mean > 0 && smaller:
			best = n
		}
	}
	if best < 0 {
		return predict.Answer{}, failed
	}
	return x.answers[best], nil
}

// fairSpeed is the best speed of a job, samples/s, with at most share workers, or its
// smallest allocation.
func (x *table) fairSpeed(s objective.Subject, share int) (best float64) {
	for n, a := range x.answers {
		if x.errs[n] == nil && x.shapes[n].Workers <= max(share, s.Reference.Config.Workers) {
			best = math.Max(best, s.Speed(a))
		}
	}
	return best
}

// options copies the table for a job that may stay on standing; zero: there is none. ask
// predicts standing where the table does not.
func (x *table) options(job data.Job, standing data.Config, ask func(data.Config) (predict.Answer, error)) []allocate.Option {
	out := make([]allocate.Option, 0, len(x.shapes)+1)
	put := func(a predict.Answer, keeps bool) {
		if a.Goodput.Mean > 0 {
			out = append(out, allocate.Option{Answer: a, Use: allocate.UseOf(a.Config, job.Resources), Keeps: keeps})
		}
	}
	stays := false
	for n := range x.shapes {
		if x.errs[n] == nil {
			keeps := standing.Workers > 0 && place.Same(x.answers[n].Config, standing)
			put(x.answers[n], keeps)
			stays = stays || keeps
		}
	}
	if standing.Workers > 0 && !stays {
		if a, err := ask(standing); err == nil {
			put(a, true)
		}
	}
	return out
}

// unfitError says why a configuration may run out of memory.
type unfitError struct{ error }

// release drops all but the shapes that may run out of memory.
func (x *table) release() {
	for n, err := range x.errs {
		if errors.As(err, new(unfitError)) {
			x.unfit = append(x.unfit, x.shapes[n])
		}
	}
	x.shapes, x.answers, x.errs = nil, nil, nil
}

// answer predicts a shape at the batch that the job may use there, unless that may run
// out of memory.
func answer(job data.Job, o oracle, c data.Config) (predict.Answer, error) {
	a, err := answerAt(job, o, c)
	if why := a.Unfit(); err == nil && why != "" {
		err = fmt.Errorf("batch %g %s", a.Config.LocalBatch, why)
	} else if !errors.As(err, new(*predict.NoLayoutError)) {
		return a, err
	}
	if m, ok := o.(modelled); ok && m.Model.Memory().GPU[c.GPUType] == 0 && !strings.HasSuffix(c.GPUType, "gb") {
		err = fmt.Errorf("%w; if this %s has more, give gpu_memory_bytes in its measurements", err, c.GPUType)
	}
	return a, unfitError{err}
}

func answerAt(job data.Job, o oracle, c data.Config) (predict.Answer, error) {
	if n := job.LogicalWorkers; n > 0 { // each worker takes its part of them one after another
		c.LocalBatch, c.AccumSteps = job.Batch.Initial/float64(n), n/c.Workers-1
		return o.At(c)
	}
	if job.Batch.Adapt || job.Batch.Initial <= 0 {
		c.LocalBatch, c.AccumSteps = 0, 0
		return o.BestBatch(c)
	}
	m, ok := o.(modelled)
	if ok && m.Model.Layouts(c.GPUType) != nil && c.Plain() {
		// The batch is fixed, the layout is chosen for the workers.
		sized := *m.Predictor
		sized.Batch.Initial = job.Batch.Initial
		return sized.BestBatch(c)
	}
	// The batch is divided among the workers, rounded up to whole samples where no size of
	// the job divides it.
	c.LocalBatch, c.AccumSteps = math.Ceil(job.Batch.Initial/float64(c.Workers)), 0
	if ok {
		c = m.Accumulated(c)
	}
	return o.At(c)
}

// Options returns every allocation that a job could get alone in the cluster, with
// predicted speed and without value. There are none if nothing fits. It fails if the
// model can predict none of them.
func Options(job data.Job, p *predict.Predictor, cluster *data.Cluster) ([]allocate.Option, error) {
	all := tables{at: map[tableKey]*table{}}
	x := all.add(0, job, modelled{p}, newClusterFit(cluster))
	if len(x.shapes) == 0 {
		return nil, nil
	}
	all.fill()
	if _, err := x.smallest(); err != nil {
		return nil, fmt.Errorf("options of job %q: %w", job.Name, err)
	}
	return x.options(job, data.Config{}, nil), nil
}

// Cache keeps predictions for later plans with other jobs or nodes. It is safe for
// concurrent use.
type Cache struct {
	known sync.Map // cacheKey to func() (predict.Answer, error)
}

type cacheKey struct {
	modelKey
	adapt       bool
	initial     float64
	gpuType     string
	mode        data.Mode
	placement   string
	ps, logical int
}

// answer predicts a shape at the batch that the job may use, once, or always if c is nil.
func (c *Cache) answer(job data.Job, o oracle, shape data.Config) (predict.Answer, error) {
	m, ok := o.(modelled)
	if c == nil || !ok || len(shape.Extra) > 0 {
		return answer(job, o, shape)
	}
	key := cacheKey{m.key(), job.Batch.Adapt, job.Batch.Initial, shape.GPUType, shape.Mode, shape.Placement.String(), shape.PS, job.LogicalWorkers}
	known, _ := c.known.LoadOrStore(key, sync.OnceValues(func() (predict.Answer, error) { return answer(job, o, shape) }))
	return known.(func() (predict.Answer, error))()
}
