package simulate

import (
	"math"
	"slices"
	"strconv"

	"knee/allocate"
	"knee/allocate/place"
	"knee/data"
	"knee/predict"
)

// Job is one job of a workload.
type Job struct {
	Name        string
	Application string  // the key of its model and its truth
	Submit      float64 // seconds since the start of the workload
	Workers     int     // what its owner asked for; 0 if left open
	Batch       float64 // global batch its owner asked for, samples; 0 if left open
	Work        float64 // samples at initial-batch worth until it ends; > 0
	Steps       bool    // Work is optimizer steps, not samples
	Seconds     bool    // Work is seconds on what its owner asked for, not samples
	PerSample   float64 // seconds of a sample of Work by the duration given beside it; 0 if not known
	TotalSteps  float64 // optimizer steps until it ends, with EndsAt those declared; used instead of the seconds where a model knows the batch; 0 if not known
	Declared    float64 // work declared by its owner, in the unit of Work; 0: none
	Fate        Fate    // how it ends once its Work is done
	EndsAt      float64 // share of its declared work that Work is; 0 means all
	CancelAfter float64 // seconds from submission after which its owner cancels it; 0: never
	Weight      float64 // 0 counts as 1
	Tenant      string  // its tenant; empty if not known
	Source      data.Source
	Layout      *data.Layout // what its owner asked for; nil if left open
	FixedLayout bool         // it keeps that layout, whatever the policy
	GPUType     string       // the only type it may run on; empty: any

	// Rigid jobs run on the workers, and with the batch, that their owner asked for,
	// whatever the policy; the others on WorkersMin to WorkersMax, 0 where their owner
	// sets no bound.
	Rigid                  bool
	Opportunistic          bool // it runs on idle GPUs only, if the policy supports such jobs
	WorkersMin, WorkersMax int
	// Logical is the number of workers that the training is written for, 0 if it adapts:
	// they run on a number of GPUs that divides it, with the batch of all, so that its
	// accuracy does not change with GPUs (EasyScale, Li et al., SC 2023).
	Logical int

	// RestartSeconds are without progress after the job gets workers and after a change
	// of them; 0 takes those of the [Settings].
	RestartSeconds float64

	// Learner, if not nil, makes the options from what the job has been observed to do.
	Learner Learner
	// Course, if not nil, is the progress of the job, in place of the [Truth].
	Course Course

	// Options are what a policy may choose, with predicted goodput (samples/s). Values
	// are set at every decision.
	Options []allocate.Option
}

type Fate string

// The fates of jobs. About half of the jobs of production traces do not complete (Jeon et
// al., USENIX ATC 2019, section 4).
const (
	Completes   Fate = "completed"
	Fails       Fate = "failed"
	Cancelled   Fate = "cancelled"   // by its owner
	Unconverged Fate = "unconverged" // it does all of its declared work and does not converge
)

// Believed is the expected work of a job before it runs: the declared work, else its work
// if it does all of it; 0: not known.
func (j *Job) Believed() float64 {
	if j.Declared > 0 || j.Fate == Fails || j.Fate == Cancelled {
		return j.Declared
	}
	return j.Work
}

// Bad returns the error that a column of a job has an invalid value.
func (j *Job) Bad(column, found, want string) error {
	src := j.Source
	src.Column = column
	return &data.InputError{Source: src, Found: found + " for job " + strconv.Quote(j.Name), Want: want}
}

// Learner models one job while it runs, from what the job's processes can observe.
type Learner interface {
	// Observe is called when the job has run in a configuration and has done samples of
	// its work.
	Observe(c data.Config, done float64) error
	// Options returns the option table; it has the job's configuration, current, unless
	// that is nil.
	Options(current *data.Config) []allocate.Option
	// Left is the expected number of samples left; 0: not known.
	Left() float64
	// Completed is called when all work is done.
	Completed()
}

// Course is the progress of one job by its own rules. It also calls the job's learner.
type Course interface {
	// Stand is called when the nodes of the job change; nil: none. now is in seconds.
	Stand(now float64, nodes []data.NodeShare) error
	// Pass advances the job by seconds, with workers or without.
	Pass(seconds float64) (Passed, error)
}

// Passed is what a job has done and had so far.
type Passed struct {
	Done       float64 // samples
	Ran        float64 // seconds with workers
	GPUSeconds float64
	End        float64 // when it was done, in seconds; 0 if it is not
}

// Truth is the true goodput (samples/s at initial-batch worth) of a job in a
// configuration after done samples of its work: finite, not negative, and constant from
// event to event.
type Truth func(j *Job, c data.Config, done float64) (float64, error)

// Predicted is the truth of a world in which every prediction is right.
func Predicted(j *Job, c data.Config, _ float64) (float64, error) {
	c.Placement = nil
	for _, o := range j.Options {
		if place.Same(o.Config, c) && o.Config.LocalBatch == c.LocalBatch && o.Config.AccumSteps == c.AccumSteps {
			return o.Answer.Goodput.Mean, nil
		}
	}
	return 0, nil
}

// Outcome is the result of one job. Times are in seconds since the start of the
// workload.
type Outcome struct {
	Job        string
	Tenant     string
	Fate       Fate
	Submit     float64
	Start      float64 // when it first got workers
	End        float64
	Restarts   int     // changes of allocation after the first start
	Rescales   int     // changes of size without a restart
	GPUSeconds float64 // workers × time held, restarts included
	Lost       float64 // work that failures undid, samples
}

// Useful reports whether a job completed.
func (o Outcome) Useful() bool { return o.Fate == "" || o.Fate == Completes }

// JCT is the job completion time, seconds from submission to end.
func (o Outcome) JCT() float64 { return o.End - o.Submit }

// running is the state of a job during a replay.
type running struct {
	*Job
	done    float64 // samples
	speed   float64 // samples/s, the true one
	delay   float64 // seconds of start-up or restart left
	config  data.Config
	nodes   []data.NodeShare // nil if it has nothing
	beside  *running         // the job on the same GPUs; nil: none
	guest   bool             // the GPUs belong to the other job
	ever    bool             // it has run before
	options []allocate.Option
	ran     float64            // seconds it has held workers
	since   float64            // seconds of progress since the last checkpoint
	saved   float64            // samples done at that checkpoint
	byType  map[string]float64 // GPU-seconds
	outcome Outcome
}

// finishIn is how long the job still takes if nothing changes, in seconds.
func (r *running) finishIn() float64 {
	if r.nodes == nil || r.speed <= 0 {
		return math.Inf(1)
	}
	return r.delay + math.Max(0, r.Work-r.done)/r.speed
}

func (r *running) cancelAt() float64 { return r.Submit + allocate.Unlimited(r.CancelAfter) }

// stop takes its workers from a job, which writes a checkpoint first.
func (r *running) stop() {
	r.save()
	r.part()
	r.nodes, r.speed, r.delay = nil, 0, 0
}

func (r *running) save() { r.saved, r.since = r.done, 0 }

// advance lets time pass, with a checkpoint every so many seconds of progress,
// 0 for none.
func (r *running) advance(dt, checkpoint float64) error {
	switch {
	case r.Course != nil:
		p, err := r.Course.Pass(dt)
		if r.done, r.ran, r.outcome.GPUSeconds, r.outcome.End = p.Done, p.Ran, p.GPUSeconds, p.End; r.ran > 0 {
			r.byType[r.config.GPUType] = p.GPUSeconds
		}
		return err
	case r.nodes == nil:
		return nil
	}
	held := dt * float64(r.config.Workers)
	if r.beside != nil { // half of what the two have
		held /= 2
	}
	r.outcome.GPUSeconds += held
	r.byType[r.config.GPUType] += held
	r.ran += dt
	wait := math.Min(r.delay, dt)
	r.delay -= wait
	r.done += (dt - wait) * r.speed
	r.since += dt - wait
	if checkpoint > 0 && r.since >= checkpoint {
		r.since = math.Mod(r.since, checkpoint)
		r.saved = r.done - r.since*r.speed
	}
	return nil
}

// GPUTypes are the types of a cluster that the job may run on.
func (j *Job) GPUTypes(c *data.Cluster) []string {
	return slices.DeleteFunc(c.GPUTypes(), func(t string) bool { return j.GPUType != "" && t != j.GPUType })
}

// InSeconds makes the work of a job whose speed is not known the seconds that its duration
// gives; steps stay. The error is a [data.InputError] if it gives only samples.
func (j *Job) InSeconds() error {
	switch {
	case j.Seconds || j.Steps:
	case j.PerSample == 0:
		return j.Bad("duration_s", "none beside samples", "a duration, or profiles, models or measurements, which say how fast samples are")
	default:
		j.Work, j.Declared, j.Seconds = j.Work*j.PerSample, j.Declared*j.PerSample, true
	}
	return nil
}

// RigidOptions is the option table of a job of known duration, which runs only as its
// owner asked: every GPU type on which the gang fits, at one sample per second, its Work
// being in seconds.
func RigidOptions(j Job, cluster *data.Cluster) []allocate.Option {
	workers := max(1, j.Workers)
	fits := place.Fits(cluster)
	var out []allocate.Option
	for _, t := range j.GPUTypes(cluster) {
		if fits[t].Total() >= workers {
			out = append(out, Known(data.Config{GPUType: t, Mode: data.AllReduce, Workers: workers}, 1))
		}
	}
	return out
}

// Known is the option of a configuration that runs at a known speed, in samples/s.
func Known(c data.Config, speed float64) allocate.Option {
	e := data.Estimate{Mean: speed, Lo: speed, Hi: speed}
	return OptionOf(predict.Answer{Config: c, Goodput: e, Throughput: e})
}

// OptionOf is the option of an answer. It uses no resource but GPUs.
func OptionOf(a predict.Answer) allocate.Option {
	return allocate.Option{Answer: a, Use: allocate.UseOf(a.Config, data.Resources{})}
}

// survival counts ended jobs by the share of their declared work that they did.
type survival struct {
	count [survivalBins + 1]float64 // the last bin completed
}

const survivalBins = 256

func (s *survival) add(share float64) {
	s.count[int(survivalBins*math.Max(0, math.Min(1, share)))]++
}

// factor is the share of its remaining declared work that a job is expected to do, having
// done a share: the mean of the jobs that came as far, and of one that completes.
func (s *survival) factor(done float64) float64 {
	if done >= 1 {
		return 1
	}
	jobs, sum := 1.0, 1.0
	for b := int(survivalBins*done) + 1; b < len(s.count); b++ {
		jobs += s.count[b]
		sum += s.count[b] * float64(b) / survivalBins
	}
	return math.Min(1, (sum/jobs-done)/(1-done))
}
