package trainer

import (
	"cmp"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"time"

	"gonum.org/v1/gonum/floats"

	"knee/data"
)

// tally holds the scalars of a worker's part of an update.
type tally struct {
	Loss             float64 // its share of the mean loss
	SumSqr           float64 // sum of the squared norms of its samples' gradients
	GradSqr, GradVar float64 // statistics of its gradients alone, NaN if not known
}

// outcome is the result of synchronising besides the new parameters.
type outcome struct {
	loss    float64 // mean over all samples of the update
	sumSqr  float64 // sum of the squared norms of all samples' gradients
	sqrMean float64 // squared norm of the averaged gradient
	sync    time.Duration
	last    bool // the worker has finished
}

// synchronizer turns gradients into new parameters.
type synchronizer interface {
	// synchronize updates params from this worker's share of the mean gradient, overwritten.
	synchronize(step int64, params, grad []float64, t tally) (outcome, error)
	// close tells the peers that this worker has finished.
	close() error
}

func (o *Options) isLast(step int64) bool { return o.Steps > 0 && step >= int64(o.Steps) }

type worker struct {
	o      *Options
	m      *model
	d      *dataset
	params []float64
	grad   []float64 // share of the mean gradient, with capacity for ringScalars more
	micro  []float64 // gradient of one micro-step; grad itself without accumulation
	batch  *batch
	stats  *gradStats
	own    bool // stats are of this worker only
	rank   *int // printed with every step; nil is left out
	out    io.Writer
}

// ringScalars is the number of scalars a ring appends to the gradient.
const ringScalars = 2

// newWorker prepares a worker. out receives a line per step; nil prints none.
func newWorker(o *Options, m *model, out io.Writer) *worker {
	lo, hi := o.share(o.Rank)
	w := &worker{
		o: o, m: m, out: out,
		d:      newDataset(m.inputs(), o.Seed),
		params: m.initial(o.Seed),
		grad:   make([]float64, m.size, m.size+ringScalars),
		own:    o.Mode == data.PSAsync || o.Workers == 1,
	}
	w.batch = w.d.newBatch(hi - lo)
	w.micro = w.grad
	if o.AllRanks {
		w.rank = &o.Rank
	}
	if o.AccumSteps > 0 {
		w.micro = make([]float64, m.size)
	}
	w.stats = &gradStats{count: o.updateBatch(o.Rank), initial: cmp.Or(o.InitialBatch, float64(o.globalBatch()))}
	return w
}

// run trains on from the checkpoint. enter is called with every step at its begin.
func (w *worker) run(ctx context.Context, s synchronizer, enter func(int64)) (err error) {
	if w.o.Mode == data.PSAsync && w.o.Steps > 0 && w.o.Rank >= w.o.Steps {
		return s.close() // fewer updates than workers: none is left for this one
	}
	done, err := w.resume(s)
	if err != nil {
		return err
	}
	if w.o.isLast(done) {
		return s.close()
	}
	saving := w.o.Checkpoint != "" && w.o.Rank == 0
	if saving {
		defer func() { err = errors.Join(err, writeCheckpoint(w.o.Checkpoint, done, w.params)) }()
	}
	start := time.Now()
	saved := start
	for step := done + 1; ; step++ {
		enter(step)
		t, err := w.compute(ctx, step)
		if err != nil {
			return err
		}
		out, err := s.synchronize(step, w.params, w.grad, t)
		if err != nil {
			return err
		}
		if !w.own {
			w.stats.observe(out.sumSqr, out.sqrMean)
		}
		now := time.Now()
		if w.out != nil {
			sqr, v := w.stats.values()
			r := record{Rank: w.rank, Step: int(step), StepTime: known(now.Sub(start).Seconds()), SyncTime: known(out.sync.Seconds()), Loss: known(out.loss), GradSqr: known(sqr), GradVar: known(v)}
			if err := r.print(w.out); err != nil {
				return err
			}
		}
		start = now
		done = step
		if out.last {
			return s.close()
		}
		if saving && now.Sub(saved) > between {
			if err := writeCheckpoint(w.o.Checkpoint, done, w.params); err != nil {
				return err
			}
			saved = now
		}
	}
}

// resume loads the checkpoint on every worker, and returns its step.
func (w *worker) resume(s synchronizer) (done int64, err error) {
	if w.o.Checkpoint == "" {
		return 0, nil
	}
	if w.o.Rank == 0 {
		if done, err = readCheckpoint(w.o.Checkpoint, w.params); err != nil {
			return 0, err
		}
	}
	v := append(w.params, float64(done))
	if r, ok := s.(*ring); ok { // there are no checkpoints with servers
		if w.o.Rank != 0 {
			clear(v) // the sum is that of rank 0
		}
		err = r.allReduce(v)
	}
	copy(w.params, v)
	return int64(v[len(w.params)]), err
}

// compute fills grad with this worker's share of the mean gradient of a step, weighted by its
// part of the samples, so that the shares of all workers add up.
func (w *worker) compute(ctx context.Context, step int64) (tally, error) {
	lo, _ := w.o.share(w.o.Rank)
	weight := float64(w.batch.n) / float64(w.o.updateBatch(w.o.Rank))
	first := (step-1)*int64(w.o.globalBatch()) + int64(lo)
	var t tally
	for j := range w.o.AccumSteps + 1 {
		if err := w.await(ctx); err != nil {
			return t, err
		}
		w.d.fill(w.batch, first+int64(j)*int64(w.o.microBatch()))
		loss, sumSqr := w.m.gradient(w.micro, w.params, w.batch, weight)
		t.Loss += weight * loss
		t.SumSqr += sumSqr
		switch {
		case w.o.AccumSteps == 0: // micro is grad
		case j == 0:
			copy(w.grad, w.micro)
		default:
			floats.Add(w.grad, w.micro)
		}
	}
	t.GradSqr, t.GradVar = math.NaN(), math.NaN()
	if w.own {
		w.stats.observe(t.SumSqr, squaredNorm(w.grad))
		t.GradSqr, t.GradVar = w.stats.values()
	}
	return t, nil
}

// await waits until storage of InputRate delivers a batch, or ctx ends.
func (w *worker) await(ctx context.Context) error {
	if ctx.Err() != nil || w.o.InputRate == 0 {
		return context.Cause(ctx)
	}
	select {
	case <-time.After(time.Duration(float64(w.batch.n) / w.o.InputRate * float64(time.Second))): // delivered
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// record is the printed line of one optimizer step; unknown numbers are left out.
type record struct {
	Rank     *int  `json:"rank,omitempty"`
	Step     int   `json:"step"`
	StepTime known `json:"step_time_s,omitzero"`
	SyncTime known `json:"sync_time_s,omitzero"`
	Loss     known `json:"loss,omitzero"`
	GradSqr  known `json:"grad_sqr,omitzero"`
	GradVar  known `json:"grad_var,omitzero"`
}

// known is a number; NaN and infinities count as not known.
type known float64

func (k known) IsZero() bool { return math.IsNaN(float64(k)) || math.IsInf(float64(k), 0) }

// print makes one write, so that a reader of the pipe never gets half a line.
func (r record) print(w io.Writer) error {
	b, err := json.Marshal(r)
	if err == nil {
		_, err = fmt.Fprintf(w, "knee: %s\n", b)
	}
	if err != nil {
		return fmt.Errorf("printing step %d: %w", r.Step, err)
	}
	return nil
}

// checkpoint is the state from which a job continues, written and read by rank 0.
type checkpoint struct {
	Step   int64 // the last complete one
	Params []float64
}

const between = time.Second

// readCheckpoint fills params and returns their step, 0 if there is no file yet.
func readCheckpoint(path string, params []float64) (step int64, err error) {
	f, err := data.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var c checkpoint
	if err := gob.NewDecoder(f).Decode(&c); err != nil {
		return 0, &data.InputError{Source: data.Source{File: path}, Found: err.Error(), Want: "a checkpoint of knee train"}
	}
	if len(c.Params) != len(params) || c.Step < 0 {
		return 0, &data.InputError{Source: data.Source{File: path}, Found: fmt.Sprintf("%d parameters at step %d", len(c.Params), c.Step), Want: fmt.Sprintf("the %d parameters of this model", len(params))}
	}
	copy(params, c.Params)
	return c.Step, nil
}

// writeCheckpoint replaces the file: no crash leaves half of one.
func writeCheckpoint(path string, step int64, params []float64) error {
	return data.WriteFile(path, func(w io.Writer) error { return gob.NewEncoder(w).Encode(checkpoint{step, params}) })
}
