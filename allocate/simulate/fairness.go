package simulate

import (
	"cmp"
	"math"
	"slices"
)

// Alone is the seconds that job i of a workload would take alone on so many GPUs.
type Alone func(i, gpus int) (float64, error)

// Fairness returns the finish-time fairness of every job (Themis, Mahajan et
// al., NSDI 2020, section 3): its completion time ÷ the time alone on an equal
// share of the cluster, which is the GPUs ÷ the mean number of jobs during its
// life. Above 1 an equal share of its own would have been better for the job.
func Fairness(outcomes []Outcome, gpus int, alone Alone) ([]float64, error) {
	crowd := crowding(outcomes)
	out := make([]float64, len(outcomes))
	for i, o := range outcomes {
		share := max(1, int(math.Round(float64(gpus)/crowd[i])))
		t, err := alone(i, share)
		if err != nil {
			return nil, err
		}
		if t > 0 {
			out[i] = o.JCT() / t
		}
	}
	return out, nil
}

// crowding is the mean number of jobs in the system over the life of each,
// itself included.
func crowding(outcomes []Outcome) []float64 {
	type event struct{ at, delta float64 }
	var events []event
	for _, o := range outcomes {
		events = append(events, event{o.Submit, 1}, event{o.End, -1})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	// The integral of the number of jobs present, at every event.
	at, sum := make([]float64, len(events)), make([]float64, len(events))
	var present float64
	for i, e := range events {
		at[i] = e.at
		if i > 0 {
			sum[i] = sum[i-1] + present*(e.at-at[i-1])
		}
		present += e.delta
	}
	integral := func(t float64) float64 {
		i, _ := slices.BinarySearch(at, t)
		return sum[min(i, len(sum)-1)]
	}
	out := make([]float64, len(outcomes))
	for i, o := range outcomes {
		out[i] = 1
		if o.JCT() > 0 {
			out[i] = math.Max(1, (integral(o.End)-integral(o.Submit))/o.JCT())
		}
	}
	return out
}
