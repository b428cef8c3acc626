package bayesopt

import (
	"maps"

	"knee/data"
)

// memoryRules tell which candidates must run out of memory because others
// did. Only what holds for every way of training is concluded:
//
//   - memory grows with the local batch, and gradient accumulation adds a
//     buffer: a larger batch, with accumulation wherever the failed trial had
//     it, needs at least as much;
//   - per worker it does not shrink when there are fewer workers or parameter
//     servers. It is constant where replicas hold everything, and grows where
//     state is sharded over them.
//
// Where a measurement contradicts the second, because the same batch fitted
// with fewer workers, what ran out is shared by the workers (the memory of
// the host, say), and as many workers or more are excluded instead.
//
// More workers otherwise stay open after a single failure: sharding may make
// them fit. If a second trial with more workers and no larger batch fails too,
// sharding evidently does not help, and the batch is excluded for any number
// of workers, unless a measurement shows that it fits.
//
// Mode and further knobs (precision, recomputation, …) must be equal, as nothing
// is known about how they change memory, and so must the GPU type unless both
// are known (see [data.FindGPU]): what does not fit a larger memory does not
// fit a smaller one.
type memoryRules struct {
	out []data.Config // ran out of memory
	fit []data.Config // did not
}

// learn takes in one finished trial.
func (r *memoryRules) learn(m data.Measurement) {
	switch m.Status {
	case data.OOM:
		r.out = append(r.out, m.Config)
	case data.OK:
		r.fit = append(r.fit, m.Config)
	}
}

// excludes reports whether the configuration must run out of memory.
func (r *memoryRules) excludes(c data.Config) bool {
	for _, o := range r.out {
		if !needsAtLeast(c, o) {
			continue
		}
		if r.growsWithWorkers(o) {
			if c.Workers >= o.Workers {
				return true
			}
			continue
		}
		if c.Workers <= o.Workers || r.sizeIrrelevant(o) {
			return true
		}
	}
	return false
}

// growsWithWorkers reports whether something that needs as much per worker as
// o fitted with fewer workers: what ran out is then shared by the workers,
// such as the memory of the host.
func (r *memoryRules) growsWithWorkers(o data.Config) bool {
	for _, f := range r.fit {
		if needsAtLeast(f, o) && f.Workers < o.Workers {
			return true
		}
	}
	return false
}

// sizeIrrelevant reports whether o failed although it has more workers and no
// larger a batch than another failure, and nothing of that batch ever fitted.
func (r *memoryRules) sizeIrrelevant(o data.Config) bool {
	for _, f := range r.fit {
		if needsAtLeast(f, o) {
			return false
		}
	}
	for _, other := range r.out {
		if other.Workers < o.Workers && needsAtLeast(other, o) {
			return true
		}
	}
	return false
}

// needsAtLeast reports whether, at equal numbers of workers, c needs at least
// the memory of o.
func needsAtLeast(c, o data.Config) bool {
	return o.LocalBatch > 0 && c.LocalBatch >= o.LocalBatch &&
		noMoreMemory(c.GPUType, o.GPUType) && c.ModeOrDefault() == o.ModeOrDefault() &&
		c.PS <= o.PS && (c.AccumSteps > 0 || o.AccumSteps == 0) && maps.Equal(c.Extra, o.Extra)
}

// noMoreMemory reports whether GPU type a has at most the memory of b.
func noMoreMemory(a, b string) bool {
	if a == b {
		return true
	}
	x, known := data.FindGPU(a)
	y, both := data.FindGPU(b)
	return known && both && x.Memory <= y.Memory
}
