package data

import (
	"math"
	"time"
)

// Status is how a trial ended.
type Status string

// The ways a trial can end. OOM and Infeasible are facts about the
// configuration; the others are events that may not repeat.
const (
	OK         Status = "ok"
	OOM        Status = "oom"        // ran out of device or host memory
	Infeasible Status = "infeasible" // violates a constraint of the job or the system
	Failed     Status = "failed"     // exited with an error
	Timeout    Status = "timeout"    // made no step within the allowed time
	Queued     Status = "queued"     // got no nodes within the allowed wait
	Aborted    Status = "aborted"    // stopped by the user
)

// Statuses lists the statuses in the order they are documented.
func Statuses() []Status { return []Status{OK, OOM, Infeasible, Failed, Timeout, Queued, Aborted} }

// IsFact reports whether measuring again would give the same status.
func (s Status) IsFact() bool { return s == OK || s == OOM || s == Infeasible }

// Measurement is the result of one trial. What was not recorded is zero.
type Measurement struct {
	Config
	StepTime     float64   `json:"step_time_s,omitempty" csv:"step_time_s" is:"positive seconds" by:"hand" keep:""` // seconds per optimizer step; with Status Timeout, if not 0, a lower bound; else set if and only if Status is OK
	SyncTime     float64   `json:"sync_time_s,omitempty" csv:"sync_time_s" is:"seconds"`                            // seconds of the step spent synchronising
	StepTimeSD   float64   `json:"step_time_sd_s,omitempty" csv:"step_time_sd_s" is:"seconds"`                      // standard deviation of single step times
	StepTimeSE   float64   `json:"step_time_se_s,omitempty" csv:"step_time_se_s" is:"seconds"`                      // standard error of StepTime: ± 2 of it is a 95 % interval of this run's mean, allowing for correlation, drift and stopping; variation between runs is not included
	Steps        int       `json:"steps,omitempty" csv:"steps"`                                                     // timed steps behind StepTime
	Status       Status    `json:"status" csv:"status" by:"hand" keep:""`
	Error        string    `json:"error,omitempty" csv:"error" by:"hand"`                                      // one line: why Status is not OK, or why StepTime is doubted
	PricePerHour float64   `json:"price_per_hour,omitempty" csv:"price_per_hour" is:"price" of:"US$ per hour"` // US$ per hour of the whole configuration
	Wall         float64   `json:"wall_s,omitempty" csv:"wall_s" is:"seconds"`                                 // seconds the trial took, launch to end
	StartSeconds float64   `json:"start_seconds,omitempty" csv:"start_seconds" is:"seconds"`                   // seconds from launch to the first step, without queueing
	PeakMemory   float64   `json:"peak_memory_bytes,omitempty" csv:"peak_memory_bytes" is:"bytes"`             // of the worker with the most
	GPUMemory    float64   `json:"gpu_memory_bytes,omitempty" csv:"gpu_memory_bytes" is:"bytes"`               // of a device
	StartedAt    time.Time `json:"started_at,omitzero" csv:"started_at" by:"hand"`
	Source       Source    `json:"-" csv:"-"` // where it was read from
}

// Throughput returns samples per second, 0 if the batch or step time is unknown.
func (m Measurement) Throughput() float64 {
	if m.StepTime <= 0 {
		return 0
	}
	return m.SamplesPerStep() / m.StepTime
}

// StandardError returns the standard error of StepTime in seconds, 0 if not known. From a
// standard deviation it is a lower bound, as neighbouring steps correlate.
func (m Measurement) StandardError() float64 {
	if m.StepTimeSE > 0 || m.StepTimeSD <= 0 {
		return m.StepTimeSE
	}
	return m.StepTimeSD / math.Sqrt(float64(max(m.Steps, 1)))
}

// Cost returns the cost of the trial in US$.
func (m Measurement) Cost() float64 { return m.PricePerHour * m.Wall / 3600 }

// CurvePoint is one point of a training curve. What was not recorded is NaN.
type CurvePoint struct {
	Job         string  `csv:"job"`
	Run         string  `csv:"run"`
	Step        float64 `csv:"step,iteration,default=NaN" is:"not negative" of:"a number"` // optimizer steps done
	Epoch       float64 `csv:"epoch,default=NaN" is:"not negative" of:"a number"`
	Progress    float64 `csv:"progress,default=NaN" is:"not negative" of:"a number"` // statistically equivalent steps at the initial batch
	Loss        float64 `csv:"loss,default=NaN" is:"any" of:"a finite number, or an empty cell if it was not recorded"`
	Metric      float64 `csv:"metric,default=NaN" is:"any" of:"a finite number, or an empty cell if it was not recorded"` // the user's, such as accuracy or word error rate
	GlobalBatch float64 `csv:"global_batch,default=NaN" is:"samples"`
	GradSqr     float64 `csv:"grad_sqr,default=NaN" is:"any" of:"a finite number, or an empty cell if it was not recorded"` // |E g|², of few samples perhaps negative
	GradVar     float64 `csv:"grad_var,default=NaN" is:"any" of:"a finite number, or an empty cell if it was not recorded"` // trace of the gradient covariance at the initial batch
}

// Estimate is a predicted quantity with its 90 % interval.
type Estimate struct {
	Mean float64 `json:"mean"`
	Lo   float64 `json:"lo"` // 5 % quantile
	Hi   float64 `json:"hi"` // 95 % quantile
}

// Scale returns the estimate of a quantity that is f times this one, f > 0.
func (e Estimate) Scale(f float64) Estimate { return Estimate{e.Mean * f, e.Lo * f, e.Hi * f} }

// Plus returns the estimate of a quantity that is larger by x.
func (e Estimate) Plus(x float64) Estimate { return Estimate{e.Mean + x, e.Lo + x, e.Hi + x} }

// Per is the estimate of f divided by the quantity: a step time becomes a rate.
func (e Estimate) Per(f float64) Estimate { return Estimate{f / e.Mean, f / e.Hi, f / e.Lo} }
