package tiresias

import (
	"cmp"
	"fmt"
	"slices"
)

// newDiscipline returns the preemptive policy of a published name.
func newDiscipline(name string, service []int64) (discipline, error) {
	switch name {
	case "sjf":
		return byKey(func(j *job) int64 { return j.gpus }), nil
	case "shortest":
		return byKey((*job).remaining), nil
	case "shortest-gpu":
		return byKey(func(j *job) int64 { return j.remaining() * j.gpus }), nil
	case "dlas":
		return &queues{}, nil
	case "dlas-gpu":
		return &queues{byGPU: true}, nil
	}
	t, err := newGittins(service)
	if err != nil {
		return nil, fmt.Errorf("simulate: dlas-gpu-gittins: %w", err)
	}
	return &queues{byGPU: true, gittins: t}, nil
}

// byKey serves the job of the smallest key first. The sort is stable and in
// place, so that ties keep the order that earlier events left.
type byKey func(*job) int64

func (byKey) arrive(*job)         {}
func (byKey) leave(*job)          {}
func (byKey) account(*job, bool)  {}
func (byKey) settled(int64) int64 { return never }

func (key byKey) order(runnable []*job) []*job {
	slices.SortStableFunc(runnable, func(a, b *job) int { return cmp.Compare(key(a), key(b)) })
	return runnable
}
