package trainer

import "math/rand/v2"

// The generated classification problem. Every class is a mixture of Gaussian
// clusters, so that a linear model cannot solve it; clusters overlap and some
// labels are wrong, so that the loss stays above zero and the gradient noisy,
// as on real data.
const (
	classes          = 10
	clustersPerClass = 4
	centreSpread     = 0.45 // standard deviation of a centre's coordinates, in units of the noise
	labelNoise       = 0.05 // share of labels replaced by random ones
)

// Streams of the seed: independent random sequences.
const (
	streamCentres = 0x6b6e6565_00000001
	streamParams  = 0x6b6e6565_00000002
	streamSamples = 0x6b6e6565_00000003
)

// dataset generates samples on demand. Sample i is a pure function of the seed
// and i, so workers draw disjoint shards without communication, and one process
// can redraw the batch of a whole job.
type dataset struct {
	inputs  int
	seed    uint64
	centres []float64 // classes·clustersPerClass × inputs
	src     rand.PCG
}

type batch struct {
	n      int
	x      []float64 // n × inputs
	labels []int     // n
}

// newDataset returns the problem of a seed, with a number of inputs per sample.
func newDataset(inputs int, seed int64) *dataset {
	d := &dataset{inputs: inputs, seed: uint64(seed)}
	rng := rand.New(rand.NewPCG(d.seed, streamCentres))
	d.centres = make([]float64, classes*clustersPerClass*inputs)
	for i := range d.centres {
		d.centres[i] = centreSpread * rng.NormFloat64()
	}
	return d
}

func (d *dataset) newBatch(n int) *batch {
	return &batch{n: n, x: make([]float64, n*d.inputs), labels: make([]int, n)}
}

func (d *dataset) fill(b *batch, first int64) {
	rng := rand.New(&d.src)
	for i := range b.n {
		// The two words of a PCG state are mixed by its output function, so
		// neighbouring indices give unrelated sequences after one draw.
		d.src.Seed(d.seed^streamSamples, uint64(first)+uint64(i))
		rng.Uint64()
		cluster := rng.IntN(classes * clustersPerClass)
		label := cluster % classes
		centre := d.centres[cluster*d.inputs : (cluster+1)*d.inputs]
		row := b.x[i*d.inputs : (i+1)*d.inputs]
		for j := range row {
			row[j] = centre[j] + rng.NormFloat64()
		}
		if rng.Float64() < labelNoise {
			label = rng.IntN(classes)
		}
		b.labels[i] = label
	}
}
