package trainer

import (
	"context"
	"fmt"
	"io"

	"knee/data"
)

// Run trains as one rank of a job until its last step, or until ctx ends, in which case it
// returns the cause. Unless AllRanks is set, one rank writes to stdout, one line per optimizer
// step: worker 0, or server 0 in ps-async.
//
//	knee: {"step":1,"step_time_s":0.0031,"sync_time_s":0.0012,"loss":2.41,"grad_sqr":0.8,"grad_var":2.7}
//
// Unknown numbers are left out. step_time_s is wall-clock time between consecutive steps; in
// ps-async between consecutive updates of the job by any worker. sync_time_s is the part of it
// spent exchanging gradients and waiting for others; in ps-async that of the worker divided by
// the number of workers. loss is the mean over the samples of the step, all of them new.
// grad_sqr and grad_var are the smoothed [estimate] at [Options.InitialBatch], if positive.
//
// Rank 0 describes the job on stderr. Invalid options are a [data.InputError]. If a rank that
// this one waits for ends early, the error names it, such as "worker 2 (127.0.0.1:41237) left
// during step 17: EOF".
func Run(ctx context.Context, o Options, stdout, stderr io.Writer) error {
	_, err := train(ctx, o, stdout, stderr)
	return err
}

// train is Run; it also returns the final parameters, a server's slice of them.
func train(ctx context.Context, o Options, stdout, stderr io.Writer) ([]float64, error) {
	o.setDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	m, err := newModel(o.Model, o.MessageBytes)
	if err != nil {
		return nil, err
	}
	if o.Role == Worker && o.Rank == 0 {
		fmt.Fprintln(stderr, "knee train:", o.describe(m))
	}
	g := newGroup(ctx, &o)
	defer g.close()
	params, err := g.play(m, stdout)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // before that of the connections, which end with it
	}
	return params, err
}

func (g *group) play(m *model, stdout io.Writer) ([]float64, error) {
	if g.o.Role == Server {
		s, err := newServer(g, m, stdout)
		if err != nil {
			return nil, err
		}
		return s.params, s.serve()
	}
	if (g.o.Rank != 0 || g.o.Mode == data.PSAsync) && !g.o.AllRanks {
		stdout = nil
	}
	var s synchronizer
	var err error
	if g.o.Mode.UsesPS() {
		s, err = newPSClient(g)
	} else {
		s, err = newRing(g)
	}
	if err != nil {
		return nil, err
	}
	w := newWorker(g.o, m, stdout)
	return w.params, w.run(g.ctx, s, g.step.Store)
}

// describe returns one line about the job and its learning rate.
func (o *Options) describe(m *model) string {
	return fmt.Sprintf("%s of %d workers and %d ps; model %s, message %d bytes; global batch %d; learning rate %.4g for %d samples per update",
		o.Mode, o.Workers, o.PS, o.Model, m.bytes(), o.globalBatch(), o.learningRate(o.updateBatch(0)), o.updateBatch(0))
}
