package simulate

import (
	"math"
	"slices"

	"knee/internal/quantile"
)

// Summary is a replayed workload in one row.
type Summary struct {
	Jobs        int     `json:"jobs"`
	JCTMean     float64 `json:"jct_mean_s"`   // s
	JCTMedian   float64 `json:"jct_median_s"` // s
	JCTP99      float64 `json:"jct_p99_s"`    // s
	QueueMean   float64 `json:"queue_mean_s"` // s from submission to first start
	Makespan    float64 `json:"makespan_s"`   // s from the first submission to the last end
	GPUHours    float64 `json:"gpu_hours"`    // held by jobs, restarts included
	Utilization float64 `json:"utilization"`  // GPU-hours ÷ (GPUs × makespan)
	Restarts    int     `json:"restarts"`
	Useful      int     `json:"useful_jobs"`      // jobs that completed, see [Fate]
	Wasted      float64 `json:"wasted_gpu_hours"` // GPU-hours of the others
}

// Summarize adds up the outcomes of a workload on a cluster of n GPUs.
// Quantiles interpolate linearly between order statistics.
func Summarize(outcomes []Outcome, n int) Summary {
	s := Summary{Jobs: len(outcomes)}
	if len(outcomes) == 0 {
		return s
	}
	first, last := math.Inf(1), 0.0
	var jct []float64
	for _, o := range outcomes {
		jct = append(jct, o.JCT())
		s.JCTMean += o.JCT() / float64(len(outcomes))
		s.QueueMean += (o.Start - o.Submit) / float64(len(outcomes))
		s.GPUHours += o.GPUSeconds / 3600
		s.Restarts += o.Restarts
		if o.Useful() {
			s.Useful++
		} else {
			s.Wasted += o.GPUSeconds / 3600
		}
		first, last = math.Min(first, o.Submit), math.Max(last, o.End)
	}
	slices.Sort(jct)
	s.JCTMedian, s.JCTP99 = quantile.Sorted(jct, 0.5), quantile.Sorted(jct, 0.99)
	s.Makespan = last - first
	if s.Makespan > 0 && n > 0 {
		s.Utilization = s.GPUHours * 3600 / (s.Makespan * float64(n))
	}
	return s
}
