package form

import (
	"math"

	"knee/data"
)

// Point is a configuration in the quantities of the forms.
type Point struct {
	Workers, Nodes, Widest float64 // Widest: workers on the fullest node
	Servers                float64 // at least 1, as without servers one place updates the parameters
	Batch                  float64 // samples per worker per micro-step; below 1 workers share a sample
	Global                 float64 // samples per step; per update in ps-async
	Accum                  float64 // further micro-steps
	Placed                 bool    // the number of nodes is known
	// Nodes and widest to predict from measurements without nodes; 0 if not known.
	AskedNodes, AskedWidest float64
	BatchKnown              bool
	Type                    int       // index among the model's GPU types
	Knobs                   []float64 // coordinates of the layout and of the study's own knobs

	TP, PP, CP, EP, Replicas     float64 // degrees of parallelism and data-parallel width, at least 1
	Sharding, Recompute, Offload string  // empty for none
	MicroUnknown                 bool    // the number of micro-batches of a replica's batch is unknown
	Offsets                      Offsets // effects of the size of the model

	// Natural logarithms of the above.
	LnWorkers, LnNodes, LnWidest, LnServers, LnGlobal float64
	LnBatch, LnSplit                                  float64 // of max(Batch, 1) and min(Batch, 1)
	// ln of [ring] of all workers and of the widest node; 0 for one worker.
	LnRing, LnRingWidest float64
	LnLinks              float64 // effect of knobs and of the network's size on communication alone
	LnStep               float64 // effect of the network's size on all of a step
}

// Sharing says which workers share their input; empty if it never takes longest.
type Sharing string

// Values of Sharing.
const (
	ByNode Sharing = "node"
	ByAll  Sharing = "all"
	InTurn Sharing = "turn" // by all, one after another, which no computing overlaps
)

// overlap is γ of reading the input and the rest of a step.
func (s Sharing) overlap() float64 {
	if s == InTurn {
		return 1
	}
	return mostOverlap
}

// Scale is the typical size of a set of measurements. Forms use it for their
// units and for configurations whose batch is not known.
type Scale struct {
	Batch  float64 // geometric median of the distinct local batches, 1 if none is known
	Global float64 // geometric median of the distinct global batches, 1 if none is known
	Time   float64 // s, geometric median of the time of one micro-step
	Step   float64 // s, geometric median of the step time
	Unit   float64 // s, geometric mean of the time of one sample on one worker if computing took all of the step
	Fixed  bool    // the global batch, not the local one, was held constant
	// PerNode is the workers that fill a node if nodes are unknown; 0: links are alike.
	PerNode    float64
	Shared     Sharing
	Launched   bool // launches of operations may take most of computing
	Overlapped bool // exchanges with parameter servers overlap with computing
}

// batch is the local batch that stands for an unknown one.
func (s *Scale) batch(replicas, accum float64) float64 {
	if s.Fixed {
		return s.Global / replicas / (accum + 1)
	}
	return s.Batch
}

// NewPoint returns the point of a configuration, with the typical batch if unknown. Unknown
// nodes follow from PerNode, with Placed false.
func NewPoint(c data.Config, s Scale) Point {
	p := Point{
		Workers:    float64(max(c.Workers, 1)),
		Nodes:      float64(c.NodeCount()),
		Widest:     float64(max(c.WidestNode(), 1)),
		Servers:    float64(max(c.PS, 1)),
		Accum:      float64(max(c.AccumSteps, 0)),
		Placed:     c.Workers <= 1 || c.Nodes > 0 || len(c.Placement) > 0,
		BatchKnown: c.LocalBatch > 0,
		TP:         float64(max(c.TP, 1)), PP: float64(max(c.PP, 1)), CP: float64(max(c.CP, 1)), EP: float64(max(c.EP, 1)), Replicas: float64(c.Replicas()),
		MicroUnknown: c.MicroUnknown,
		Sharding:     c.Sharding, Recompute: c.Recompute, Offload: c.Offload,
	}
	if !p.BatchKnown {
		c.LocalBatch = s.batch(p.Replicas, p.Accum)
	}
	p.setBatch(c.LocalBatch, c.SamplesPerStep())
	p.LnWorkers, p.LnServers, p.LnRing = math.Log(p.Workers), math.Log(p.Servers), lnRing(p.Workers)
	p.setNodes(&s)
	return p
}

// SameShape reports whether the GPUs multiply matrices of the same shapes: of as many
// samples, divided alike, of networks as wide with samples as long.
func (p *Point) SameShape(q *Point) bool {
	return p.Batch == q.Batch && p.TP == q.TP && p.CP == q.CP && p.Offsets.Hidden == q.Offsets.Hidden && p.Offsets.SeqLen == q.Offsets.SeqLen
}

// Assume returns the point with unknown batch and nodes as at scale s.
func (p *Point) Assume(s *Scale) Point {
	q := *p
	q.setNodes(s)
	if !p.BatchKnown {
		b := s.batch(p.Replicas, p.Accum)
		q.setBatch(b, b*p.Global/p.Batch)
	}
	return q
}

func (p *Point) setNodes(s *Scale) {
	if !p.Placed {
		p.Nodes, p.Widest = 1, p.Workers
		if s.PerNode > 0 {
			p.Nodes, p.Widest = math.Ceil(p.Workers/s.PerNode), min(p.Workers, s.PerNode)
			if p.AskedNodes > 0 {
				p.Nodes, p.Widest = p.AskedNodes, p.AskedWidest
			}
		}
	}
	p.LnNodes, p.LnWidest, p.LnRingWidest = math.Log(p.Nodes), math.Log(p.Widest), lnRing(p.Widest)
}

func (p *Point) setBatch(local, global float64) {
	p.Batch, p.Global, p.LnGlobal = local, global, math.Log(global)
	p.LnBatch, p.LnSplit = math.Log(math.Max(local, 1)), math.Log(math.Min(local, 1))
}

// lnRing is ln of 2(n−1)/n, the messages that a ring all-reduce of n sends
// over each of its links (Patarasuk and Yuan, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations", 2009), which is 1 for two.
func lnRing(n float64) float64 {
	if n <= 1 {
		return 0
	}
	return math.Log(ring(n))
}

// logistic maps the real line to (0, 1).
func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// powerSum returns (x^γ + y^γ)^(1/γ): the sum for γ = 1, nearly the larger for a large γ.
func powerSum(x, y, gamma float64) float64 {
	return math.Exp(logSumExp(gamma*math.Log(x), gamma*math.Log(y)) / gamma)
}

// logSumExp returns ln(eᵃ + eᵇ) without overflow; −Inf stands for a missing term.
func logSumExp(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if b-a < -37 || math.IsInf(b, -1) { // e⁻³⁷ is below the precision of 1
		return a
	}
	return a + math.Log(1+math.Exp(b-a))
}
