package memory

import (
	"math"
	"math/rand/v2"
	"testing"

	"knee/data"
)

// gpt is a transformer of 1.3 billion parameters.
var gpt = data.Architecture{Layers: 24, Hidden: 2048, Heads: 16, SeqLen: 2048, Vocab: 50304}

func config(workers int, batch float64, l data.Layout) data.Config {
	return data.Config{GPUType: "a100", Workers: workers, LocalBatch: batch, Layout: l}
}

// By hand, at the prior means: 17 bytes for each of 1.31e9 parameters, 34·s·b·h·l
// of activations of a sample and half of all scores, √32 bytes per logit, and .95 GB.
// Tensor parallelism divides 24 of the 34 and, as sequence parallelism is as likely as
// not, half of the other 10.
func TestPartsByHand(t *testing.T) {
	var x [coordinates]float64
	for i, p := range learned().of(gpt) {
		x[i] = p.Mean
	}
	e := math.Exp(x[overhead])
	const token, scores = 2048 * 2048, 5 * 16 * 2048 * 2048 / 2
	context, logits := math.Sqrt(.3*3)*1e9, math.Sqrt(2*16)*2048*50304
	for _, c := range []struct {
		name                       string
		config                     data.Config
		state, activations, logits float64
	}{
		{"one GPU", config(1, 1, data.Layout{}), 17 * gpt.Count(), (34*token + scores) * 24, logits},
		{"zero3 over 8, two layers gathered", config(8, 1, data.Layout{Sharding: "zero3"}), (17./8 + 2*7./8/12) * gpt.Count(), (34*token + scores) * 24, logits},
		{"tensors over 4", config(4, 1, data.Layout{TP: 4}), 17 * gpt.Count() / 4, ((34./4+10*.75/2)*token + scores/4) * 24, logits / 4},
		{"tensors over 4, full recomputation", config(4, 1, data.Layout{TP: 4, Recompute: "full"}), 17 * gpt.Count() / 4, 2./4*token*24*(1+3./2) + (34./4+10*.75/2)*token + scores/8, logits / 4},
		{"optimizer over replicas and contexts", config(8, 1, data.Layout{CP: 2, Sharding: "zero1"}), (5 + 12./8) * gpt.Count(), (34*token + scores) * 12, logits / 2},
		{"full recomputation", config(1, 1, data.Layout{Recompute: "full"}), 17 * gpt.Count(), 2*token*24 + 34*token + scores/2, logits},
		{"state on the host", config(1, 1, data.Layout{Offload: "cpu"}), 5. / 2 * gpt.Count(), (34*token + scores) * 24, logits},
	} {
		p := pointOf(c.config, gpt)
		_, got := p.parts(new(factorsOf(x[:])))
		for name, v := range map[string][2]float64{"state": {got.state, e * c.state}, "activations": {got.activations, e * c.activations}, "logits": {got.logits, e * c.logits}, "constant": {got.constant, context}} {
			if math.Abs(v[0]/v[1]-1) > 1e-9 {
				t.Errorf("%s: %s %.9g bytes, want %.9g", c.name, name, v[0], v[1])
			}
		}
	}
}

// Of 36.5e9 parameters 34.4e9 are in experts, of which each of eight ranks holds
// an eighth; replicas of an expert, a quarter of all, share its optimizer state.
func TestExperts(t *testing.T) {
	moe := data.Architecture{Layers: 32, Hidden: 4096, Heads: 32, SeqLen: 2048, Vocab: 32000, Experts: 8}
	var x [coordinates]float64
	in := moe.InExperts()
	for _, c := range []struct {
		layout data.Layout
		bytes  float64 // of state per parameter
	}{
		{data.Layout{}, 17},
		{data.Layout{EP: 8}, 17 * (1 - in + in/8)},
		{data.Layout{EP: 8, Sharding: "zero1"}, 5*(1-in+in/8) + 12./32},
		{data.Layout{EP: 8, Sharding: "zero1", TP: 2}, (5*(1-in+in/8) + 12./16) / 2},
	} {
		p := pointOf(config(32, 1, c.layout), moe)
		if first, _ := p.parts(new(factorsOf(x[:]))); math.Abs(first.state/(c.bytes*moe.Count())-1) > 1e-9 {
			t.Errorf("%v: %g bytes of state, want %g", c.layout, first.state, c.bytes*moe.Count())
		}
	}
}

// Without the number of experts, memory over ep is uncertain between parameters
// none of which are in experts and all of them; peaks over ep tell. Layers and
// hidden size do not count the parameters of an unknown number of experts.
func TestExpertsUncounted(t *testing.T) {
	peak := func(ep int) float64 { return 2e9 + 17*(8e9+24e9/float64(ep)) }
	for name, size := range map[string]data.Architecture{"parameters": {Parameters: 32e9}, "layers": {Layers: 32, Hidden: 4096}} {
		var ms []data.Measurement
		for _, ep := range []int{8, 8, 4, 2} {
			sized := config(32, 1, data.Layout{EP: ep, Recompute: "full"})
			sized.Architecture = size
			ms = append(ms, data.Measurement{Config: sized, Status: data.OK, StepTime: 1, PeakMemory: peak(ep)})
		}
		before := math.Inf(1)
		for _, rows := range [][]data.Measurement{ms[:2], ms} {
			p := Fit(rows, data.Architecture{}, 1).Predict(config(32, 1, data.Layout{Recompute: "full"})).Peak
			if p.Lo > peak(1) || p.Hi < peak(1) || p.Hi/p.Lo > before {
				t.Errorf("%s given, %d rows: %.3g to %.3g bytes for ep 1, it takes %.3g; the factor between the bounds was %.2f before", name, len(rows), p.Lo, p.Hi, peak(1), before)
			}
			before = p.Hi / p.Lo
		}
	}
}

// The same rows over tp 8 and 4 fit a program with sequence parallelism and one without: what
// tp 1 needs is not sure, and lies within the interval for both. A row of tp 1 tells.
func TestSequenceParallel(t *testing.T) {
	var x [coordinates]float64
	for i, p := range learned().of(gpt) {
		x[i] = p.Mean
	}
	x[scores] = -5
	f := factorsOf(x[:])
	for _, f.sequence = range []float64{0, 1} {
		row := func(tp int, batch float64) data.Measurement {
			c := config(8, batch, data.Layout{TP: tp})
			p := pointOf(c, gpt)
			return data.Measurement{Config: c, Status: data.OK, StepTime: 1, PeakMemory: math.Exp(p.ln(&f))}
		}
		ms, asked := []data.Measurement{row(8, 1), row(8, 4), row(8, 16), row(4, 2), row(4, 8), row(4, 16)}, row(1, 16)
		before := Fit(ms, gpt, 1).Predict(asked.Config).Peak
		after := Fit(append(ms, row(1, 2)), gpt, 1).Predict(asked.Config).Peak
		for name, p := range map[string]data.Estimate{"without": before, "with": after} {
			if p.Lo > asked.PeakMemory || p.Hi < asked.PeakMemory {
				t.Errorf("sequence parallelism %g, %s a row of tp 1: %.3g to %.3g bytes, it takes %.3g", f.sequence, name, p.Lo, p.Hi, asked.PeakMemory)
			}
		}
		if after.Hi/after.Lo > before.Hi/before.Lo {
			t.Errorf("sequence parallelism %g: %.3g to %.3g bytes, and with a row of tp 1 %.3g to %.3g", f.sequence, before.Lo, before.Hi, after.Lo, after.Hi)
		}
	}
}

// More splitting, sharding or recomputation never needs more memory; a larger
// batch never needs less.
func TestDirections(t *testing.T) {
	for _, a := range []data.Architecture{gpt, {}} {
		m := Fit(nil, a, 1)
		peak := func(c data.Config) float64 { return m.Predict(c).Peak.Mean }
		order := []data.Config{
			config(16, 8, data.Layout{}), config(16, 4, data.Layout{}), config(16, 4, data.Layout{Sharding: "zero1"}), config(16, 4, data.Layout{Sharding: "zero2"}),
			config(16, 4, data.Layout{Sharding: "zero3"}), config(16, 4, data.Layout{Sharding: "zero3", TP: 2}), config(16, 4, data.Layout{Sharding: "zero3", TP: 2, Recompute: "full"}),
		}
		for i := range order[1:] {
			if peak(order[i+1]) > peak(order[i])*1.0001 {
				t.Errorf("%s needs %.3g, %s %.3g", order[i+1], peak(order[i+1]), order[i], peak(order[i]))
			}
		}
	}
}

// A configuration has the size that it gives, else that of the model; of a network of
// unknown size the length of a sample counts too.
func TestOwnLength(t *testing.T) {
	for _, a := range []data.Architecture{gpt, {SeqLen: 2048}} {
		m, long := Fit(nil, a, 1), config(16, 8, data.Layout{})
		long.SeqLen = 8192
		short := m.Predict(config(16, 8, data.Layout{})).Peak
		if got, want := m.Predict(long).Peak, m.For(long.Architecture.Or(a)).Predict(config(16, 8, data.Layout{})).Peak; got != want || got.Mean < 1.5*short.Mean {
			t.Errorf("of %+v: 8192 tokens need %v, as another size %v, 2048 tokens %v", a, got, want, short)
		}
	}
}

// A configuration that ran out of memory is not predicted to fit; one that ran
// is, without a recorded peak.
func TestCensored(t *testing.T) {
	var ms []data.Measurement
	for _, b := range []float64{4, 8, 16, 32, 64} {
		m := data.Measurement{Config: config(8, b, data.Layout{}), Status: data.OK, StepTime: 1, GPUMemory: 40 << 30}
		if b > 16 {
			m.Status, m.StepTime = data.OOM, 0
		}
		ms = append(ms, m)
	}
	m := Fit(ms, data.Architecture{}, 1)
	for _, r := range ms {
		p := m.Predict(r.Config)
		if r.Status == data.OK && p.Fits < .8 || r.Status == data.OOM && p.Fits > .2 {
			t.Errorf("batch %g, %s: fits with probability %.2f", r.LocalBatch, r.Status, p.Fits)
		}
	}
	if p := m.Predict(config(8, 1024, data.Layout{})); p.Fits > .1 {
		t.Errorf("a batch 16 times too large fits with probability %.2f", p.Fits)
	}
}

// Activations may grow otherwise with the batch than the form says: with its square,
// its root, a sum of powers, or as a constant once it is large. Eight batches tell, so
// that intervals at others contain their peaks and what is called safe does not run
// out. Where growth is in proportion, intervals are narrow among the batches measured,
// and wider far from them.
func TestGrowth(t *testing.T) {
	for name, grows := range map[string]func(float64) float64{
		"in proportion":       func(r float64) float64 { return r },
		"square":              func(r float64) float64 { return r * r },
		"half linear, square": func(r float64) float64 { return (r + r*r) / 2 },
		"root":                math.Sqrt,
		"saturating":          func(r float64) float64 { return 2 * r / (1 + r) },
	} {
		inside, n, safe, wrong, near, far := 0, 0, 0, 0, 0., 0.
		for seed := range uint64(24) {
			rng := rand.New(rand.NewPCG(seed, 9))
			capacity := []float64{40 << 30, 80 << 30}[seed%2]
			base, act := (.05+.35*rng.Float64())*capacity, .06*math.Pow(8, rng.Float64())*capacity
			row := func(batch float64) data.Measurement {
				m := data.Measurement{Config: config(1, batch, data.Layout{}), GPUMemory: capacity, Status: data.OOM}
				if m.PeakMemory = base + act*grows(batch/32); m.PeakMemory < .985*capacity {
					m.Status, m.StepTime = data.OK, 1
				}
				return m
			}
			var ms []data.Measurement
			for _, batch := range []float64{2, 4, 8, 12, 16, 24, 32, 48} {
				r := row(batch)
				if r.Status == data.OOM {
					r.PeakMemory = 0
				}
				ms = append(ms, r)
			}
			m := Fit(ms, data.Architecture{}, 1)
			for _, batch := range []float64{1, 6, 20, 40, 64, 96, 128, 192, 256} {
				r := row(batch)
				p := m.Predict(r.Config)
				if n++; p.Peak.Lo <= r.PeakMemory && r.PeakMemory <= p.Peak.Hi {
					inside++
				}
				if p.Fits > .9 {
					if safe++; r.Status == data.OOM {
						wrong++
					}
				}
				switch width := math.Log(p.Peak.Hi / p.Peak.Lo); batch {
				case 20:
					near += width / 24
				case 256:
					far += width / 24
				}
			}
		}
		t.Logf("%s: %d of %d inside, %d called safe, of which %d run out; ln of widths %.2f and %.2f", name, inside, n, safe, wrong, near, far)
		if inside < n*80/100 || 10*wrong > safe {
			t.Errorf("%s: %d of %d peaks inside their 90 %% intervals; of %d called safe %d run out", name, inside, n, safe, wrong)
		}
		if name == "in proportion" && (near > .1 || far < 2*near) {
			t.Errorf("ln of upper over lower bounds is %.2f among the batches measured, %.2f far from them", near, far)
		}
	}
}

// The size of the transformer is not given: its peaks with selective
// recomputation, and one without, tell what attention scores take, so that a
// larger batch without recomputation is neither missed nor called safe.
func TestScoresOfUnknownSize(t *testing.T) {
	var x [coordinates]float64
	for i, p := range learned().of(gpt) {
		x[i] = p.Mean
	}
	x[scores] = 5 // all are kept
	peak := func(c data.Config) float64 {
		p := pointOf(c, gpt)
		return math.Exp(p.ln(new(factorsOf(x[:]))))
	}
	selective := data.Layout{Recompute: "selective"}
	var ms []data.Measurement
	for _, c := range []data.Config{config(8, 1, selective), config(8, 2, selective), config(8, 4, selective), config(8, 1, data.Layout{})} {
		ms = append(ms, data.Measurement{Config: c, Status: data.OK, StepTime: 1, PeakMemory: peak(c)})
	}
	for n, batch := range map[int]float64{3: 1, 4: 8} { // without and with a row without recomputation
		m := Fit(ms[:n], data.Architecture{}, 1)
		c := config(8, batch, data.Layout{})
		p := m.Predict(c)
		if want := peak(c); p.Peak.Lo > want || p.Peak.Hi < want {
			t.Errorf("%d rows, batch %g: %.3g (%.3g to %.3g) bytes, it takes %.3g", n, batch, p.Peak.Mean, p.Peak.Lo, p.Peak.Hi, want)
		} else if p.Fits > .5 && want > p.Capacity {
			t.Errorf("%d rows, batch %g: fits with probability %.2f, it takes %.3g of %.3g bytes", n, batch, p.Fits, want, p.Capacity)
		}
	}
}

// Rows that lack a word leave open what an implementation of it keeps: all
// activations but scores under selective recomputation or those of every second
// layer, scores or none of them, gradients in 16 or 32 bit. Intervals contain
// either, for jobs drawn from the prior.
func TestWordsUnmeasured(t *testing.T) {
	none, some, full := data.Layout{}, data.Layout{Recompute: "selective"}, data.Layout{Recompute: "full"}
	zero1, zero3 := data.Layout{Sharding: "zero1", Recompute: "full"}, data.Layout{Sharding: "zero3", Recompute: "full"}
	for name, words := range map[string]struct {
		known []data.Layout
		asked data.Layout
	}{
		"no recomputation, from full and selective": {[]data.Layout{full, some}, none},
		"no recomputation, from full":               {[]data.Layout{full}, none},
		"selective, from none and full":             {[]data.Layout{none, full}, some},
		"zero3, from zero1":                         {[]data.Layout{zero1}, zero3},
		"no sharding, from zero3":                   {[]data.Layout{zero3}, full},
		"offload, from none":                        {[]data.Layout{full}, data.Layout{Offload: "cpu", Recompute: "full"}},
	} {
		inside, n := 0, 0
		for seed := range uint64(64) {
			rng := rand.New(rand.NewPCG(seed, 2))
			var x [coordinates]float64
			for i, p := range learned().of(gpt) {
				x[i] = p.Mean + p.SD*rng.NormFloat64()
			}
			for i, at := range []int{scores, gradients, selective, recomputed, offloaded} { // every combination, in turn
				x[at] = 5 * float64(2*int(seed>>i&1)-1)
			}
			x[noise] = math.Log(.03)
			peak := func(c data.Config) float64 {
				p := pointOf(c, gpt)
				return math.Exp(p.ln(new(factorsOf(x[:]))) + .03*rng.NormFloat64())
			}
			var ms []data.Measurement
			for i, batch := range []float64{1, 2, 4, 8} {
				l := words.known[i%len(words.known)]
				if l.TP = 1; i > 1 {
					l.TP = 2
				}
				c := config(8, batch, l)
				ms = append(ms, data.Measurement{Config: c, Status: data.OK, StepTime: 1, PeakMemory: peak(c)})
			}
			m := Fit(ms, gpt, 1)
			for _, batch := range []float64{4, 16} {
				c := config(8, batch, words.asked)
				if p, truth := m.Predict(c).Peak, peak(c); p.Lo <= truth && truth <= p.Hi {
					inside++
				}
				n++
			}
		}
		t.Logf("%s: %d of %d inside", name, inside, n)
		if inside < n*85/100 {
			t.Errorf("%s: %d of %d peaks inside their 90 %% intervals", name, inside, n)
		}
	}
}

// A batch that no memory holds ends a fit like any other.
func TestBeyondNumbers(t *testing.T) {
	ms := []data.Measurement{
		{Config: config(8, 1e306, data.Layout{PP: 2}), Status: data.OK, StepTime: 1, PeakMemory: 1e10},
		{Config: config(8, 1e306, data.Layout{PP: 2}), Status: data.OOM},
	}
	if p := Fit(ms, gpt, 1).Predict(config(8, 1, data.Layout{PP: 2})); !(p.Peak.Mean > 0) {
		t.Errorf("peak %v", p.Peak)
	}
}

func TestUnknownDevice(t *testing.T) {
	c := config(1, 1, data.Layout{})
	c.GPUType = "abacus"
	if p := Fit(nil, gpt, 1).Predict(c); p.Fits != 1 || !math.IsInf(p.Capacity, 1) {
		t.Errorf("capacity %g, fits %g; want +Inf and 1", p.Capacity, p.Fits)
	}
}

// Feasibility gives no probability if nothing is known.
func TestFeasibility(t *testing.T) {
	if _, ok := (Feasibility{}).Fits(nil)(config(1, 1, data.Layout{})); ok {
		t.Error("speaks without a peak and without the size of the model")
	}
	fits := Feasibility{Architecture: gpt}.Fits([]data.Measurement{{Config: config(1, 64, data.Layout{}), Status: data.OOM}})
	small, ok := fits(config(8, 1, data.Layout{Sharding: "zero3", Recompute: "full"}))
	if large, _ := fits(config(1, 128, data.Layout{})); !ok || small < .8 || large > .1 {
		t.Errorf("a sharded batch of 1 fits with %.2f, one of 128 on one GPU with %.2f", small, large)
	}
	unknown := config(1, 1, data.Layout{})
	unknown.GPUType = "abacus"
	if _, ok := fits(unknown); ok {
		t.Error("speaks of a device whose memory is not known")
	}
}

// The size of the job is that of most measurements, wherever they are.
func TestSizeOfMostMeasurements(t *testing.T) {
	var ms []data.Measurement
	for _, layers := range []int{0, 12, 24, 24, 36, 0, 0} {
		m := data.Measurement{Status: data.OK, PeakMemory: 1e10, Config: data.Config{GPUType: "a100", Workers: 1, LocalBatch: 8}}
		if layers > 0 {
			m.Architecture = data.Architecture{Layers: layers, Hidden: 1024, SeqLen: 512}
		}
		ms = append(ms, m)
	}
	if got := Fit(ms, data.Architecture{}, 1).Architecture.Layers; got != 24 {
		t.Errorf("%d layers, want the 24 of most rows", got)
	}
	if got := Fit(ms, data.Architecture{Layers: 6, Hidden: 512, SeqLen: 512}, 1).Architecture.Layers; got != 6 {
		t.Errorf("%d layers, want the 6 given", got)
	}
}
