package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"knee/data"
)

// A layout that runs out of memory is charged deathCharge of its step, for starting the
// machines. oomShare is the share of such layouts in a synthetic space.
const oomShare, deathCharge = 0.25, 0.1

// NewLayout returns a synthetic search space: a transformer drawn from the seed on some
// numbers of GPUs (default 64) of 8-GPU nodes, with layouts by tensor and pipeline
// parallelism, micro-batch, recomputation and optimizer sharding (at most 384 per number)
// at one global batch. Memory per GPU follows Korthikanti et al. ("Reducing activation
// recomputation in large transformer models", MLSys 2023, sections 4 and 5) and Rajbhandari
// et al. ("ZeRO", SC'20, section 3), step time Narayanan et al. ("Efficient large-scale
// language model training on GPU clusters using Megatron-LM", SC'21, section 3), both with
// noise of three per cent per candidate.
func NewLayout(seed int64, sizes ...int) *Table {
	if len(sizes) == 0 {
		sizes = []int{64}
	}
	rng := rand.New(rand.NewPCG(uint64(seed), 0x6c61796f7574))
	m := newTransformer(rng)
	t := &Table{Name: fmt.Sprintf("layout-%d", seed), Kind: "layout", Architecture: data.Architecture{
		Parameters: m.parameters(), Layers: int(m.layers), Hidden: int(m.hidden), SeqLen: int(m.length)}}
	var need []float64
	for _, gpus := range sizes {
		for _, c := range m.layouts(gpus) {
			seconds, hourly := m.stepTime(c)*math.Exp(0.03*rng.NormFloat64()), float64(gpus)
			need = append(need, m.memory(c)*math.Exp(0.03*rng.NormFloat64()))
			t.Candidates = append(t.Candidates, c)
			t.Outcomes = append(t.Outcomes, Outcome{Status: data.OK, Time: seconds, Hourly: hourly, Cost: seconds * hourly / 3600})
		}
	}
	limit := slices.Sorted(slices.Values(need))[int((1-oomShare)*float64(len(need)))]
	for i := range t.Outcomes {
		t.Outcomes[i].peak, t.Outcomes[i].device = need[i], limit
		if need[i] >= limit {
			t.Outcomes[i].peak = 0
			t.Outcomes[i].Status = data.OOM
			t.Outcomes[i].Time *= deathCharge
			t.Outcomes[i].Cost *= deathCharge
		}
	}
	return t
}

const nodeGPUs = 8

// transformer is a model and its cluster.
type transformer struct {
	layers, hidden, length, batch float64
	flops                         float64 // peak per GPU and second, times an efficiency
	intra, inter                  float64 // bytes/s within and between nodes
	half                          float64 // tokens × hidden ÷ tp at half the speed of a GPU
}

func newTransformer(rng *rand.Rand) transformer {
	pick := func(v ...float64) float64 { return v[rng.IntN(len(v))] }
	return transformer{layers: pick(24, 32, 40, 48), hidden: pick(2048, 3072, 4096, 5120, 6144), length: pick(1024, 2048, 4096),
		batch: pick(256, 512, 1024), flops: pick(125e12, 312e12, 990e12) * (0.5 + 0.2*rng.Float64()),
		intra: pick(32e9, 150e9, 300e9, 450e9), inter: pick(3e9, 12e9, 25e9, 50e9), half: math.Exp(math.Log(1e6) + rng.NormFloat64())}
}

func (m transformer) parameters() float64 { return 12*m.layers*m.hidden*m.hidden + 51200*m.hidden }

// layouts are those with whole numbers of replicas and micro-batches.
func (m transformer) layouts(gpus int) (all []data.Config) {
	degrees := []int{1, 2, 4, 8}
	for _, tp := range degrees {
		for _, pp := range degrees {
			for _, micro := range degrees {
				for _, recompute := range []string{"", "selective", "full"} {
					for _, sharding := range []string{"", "zero1"} {
						c := data.Config{Mode: data.AllReduce, Workers: gpus, Nodes: (gpus + nodeGPUs - 1) / nodeGPUs, LocalBatch: float64(micro),
							Layout: data.Layout{TP: tp, PP: pp, Recompute: recompute, Sharding: sharding}}
						if count := m.batch / c.GlobalBatch(); gpus%(tp*pp) == 0 && count >= 1 && count == math.Trunc(count) {
							c.AccumSteps = int(count) - 1
							all = append(all, c)
						}
					}
				}
			}
		}
	}
	return all
}

// memory returns bytes on the fullest GPU: mixed-precision Adam, and activations of the
// first stage, which holds pp micro-batches (1F1B).
func (m transformer) memory(c data.Config) float64 {
	tp, pp := float64(c.TP), float64(c.PP)
	optimizer := 12.0
	if c.Sharding != "" {
		optimizer /= float64(c.Replicas())
	}
	tokens := m.length * c.LocalBatch * m.hidden // s·b·h
	heads := m.hidden / 128
	layer := tokens * (10 + 24/tp + 5*heads*m.length/(m.hidden*tp))
	switch c.Recompute {
	case "selective":
		layer = tokens * (10 + 24/tp)
	case "full":
		layer = tokens * 2
	}
	held := min(pp, float64(c.AccumSteps+1)) * m.layers / pp
	return m.parameters()/(tp*pp)*(4+optimizer) + held*layer
}

// stepTime returns seconds per optimizer step.
func (m transformer) stepTime(c data.Config) float64 {
	tp, pp, count := float64(c.TP), float64(c.PP), float64(c.AccumSteps+1)
	tokens := m.length * c.LocalBatch
	work := map[string]float64{"": 6, "selective": 6.3, "full": 8}[c.Recompute]
	size := tokens * m.hidden / tp
	compute := work * m.parameters() * tokens / (tp * pp) / (m.flops * size / (size + m.half))
	// Two all-reduces of an activation per layer and direction.
	traffic := 4 * 2 * tokens * m.hidden * 2 * (tp - 1) / tp * m.layers / pp / m.intra
	boundary := 0.0
	if c.PP > 1 {
		boundary = 2 * 2 * tokens * m.hidden / m.inter
	}
	// The tensor-parallel ranks of a node all-reduce their shards concurrently
	// over its links, so a node sends the gradients of its stage.
	replicas, link := float64(c.Replicas()), m.inter
	if c.Workers <= nodeGPUs {
		link = m.intra
	}
	gradients := 2 * 2 * m.parameters() / pp * (replicas - 1) / replicas / link
	return (count+pp-1)*(compute+traffic+boundary) + gradients
}
