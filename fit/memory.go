package fit

import (
	"fmt"
	"math"
	"slices"
)

// borrowed is what a fit takes over from other jobs of the same cluster and
// from what the user knows of its links: a prior in place of the general one.
type borrowed struct {
	Jobs         []string  `json:"jobs,omitempty"` // whose fits it comes from
	Mean         []float64 `json:"mean"`           // of the coordinates of collective
	SD           []float64 `json:"sd"`
	Wide         []float64 `json:"wide"`
	Parameters   float64   `json:"parameters,omitempty"`   // bytes that one synchronisation moves per worker
	Interconnect float64   `json:"interconnect,omitempty"` // bytes/s between nodes
}

// typedForm is collectiveForm under a borrowed prior: the family collective-typed.
type typedForm struct {
	collectiveForm
	memory *borrowed
}

func (f *typedForm) name() string { return typed }

func (f *typedForm) prior() prior {
	if f.memory == nil {
		return f.collectiveForm.prior()
	}
	return prior{mean: f.memory.Mean, sd: f.memory.SD, wide: f.memory.Wide}
}

func (f *typedForm) starts() [][]float64 { return startsFrom(f.prior().mean) }

// typed is the name of the family that borrows.
const typed = "collective-typed"

// check refuses priors that no other job could have given.
func (b *borrowed) check() error {
	if b == nil {
		return nil
	}
	wrong := func(lo, hi float64) func(float64) bool {
		return func(v float64) bool { return !(v >= lo && v <= hi) }
	}
	if len(b.Mean) != colCount || len(b.SD) != colCount || len(b.Wide) != colCount ||
		slices.ContainsFunc(b.Mean, wrong(-100, 100)) ||
		slices.ContainsFunc(slices.Concat(b.SD, b.Wide), wrong(1e-3, 100)) {
		return fmt.Errorf("borrowed prior with means %v and sds %v, %v; want %d numbers of reasonable size each", b.Mean, b.SD, b.Wide, colCount)
	}
	return nil
}

// betweenNodes are the coordinates that belong to the links between nodes,
// which the jobs of a cluster have in common.
func betweenNodes() []int {
	return []int{colInterOverIntra, colInterPower, colWidthPower, colTwoNodes}
}

// insideNode are those that say how synchronisation compares with computing;
// they are borrowed only before two workers were ever measured together,
// since any measurement of our own says more.
func insideNode() []int { return []int{colIntra, colOverlap} }

// remember makes the prior of a group from other jobs and from what the user
// knows, nil if there is neither.
func remember(s Settings, g *group) (*borrowed, error) {
	ls, err := lessons(s.Others, g)
	if err != nil || (len(ls) == 0 && s.Parameters <= 0) {
		return nil, err
	}
	share := betweenNodes()
	if g.hull.Widest[1] < 2 {
		share = append(share, insideNode()...)
	}
	b := borrow(ls, share, g.gpuType)
	b.Parameters, b.Interconnect = s.Parameters, s.Interconnect
	b.regress(ls, g.loneShare())
	return b, b.link(ls, g)
}

// borrow shares coordinates. Each is a random effect over jobs: its mean and
// spread are those of the lessons and of one pseudo-job that stands for the
// general prior, so that one other job is believed half and five almost.
func borrow(ls []lesson, share []int, gpuType string) *borrowed {
	p := (&collectiveForm{scale{}.on(gpuType)}).prior()
	b := &borrowed{Mean: slices.Clone(p.mean), SD: slices.Clone(p.sd), Wide: slices.Clone(p.wide)}
	for _, l := range ls {
		b.Jobs = append(b.Jobs, l.job)
	}
	n := float64(len(ls)) + 1
	for _, c := range share {
		sum := p.mean[c]
		for _, l := range ls {
			sum += l.theta[c]
		}
		b.Mean[c] = sum / n
		square := math.Pow(p.mean[c]-b.Mean[c], 2)
		for _, l := range ls {
			square += math.Pow(l.theta[c]-b.Mean[c], 2)
		}
		b.SD[c] = math.Sqrt((p.sd[c]*p.sd[c] + square) / n)
		b.Wide[c] = math.Sqrt((p.wide[c]*p.wide[c] + square) / n)
	}
	return b
}

// How strongly the lone share may move the time between nodes, and how far
// jobs scatter around that: sds of a slope and of a logarithm. Both are round
// numbers for "part of the effect, within a factor of 1.5".
const (
	slopeSD   = .3
	slopeRest = .4
)

// regress moves the prior of the time between nodes by what the lone share
// says of our message, as far as it did over the other jobs: Bayesian linear
// regression on its distance from the others' mean, slope N(0, slopeSD²).
func (b *borrowed) regress(ls []lesson, share float64) {
	var mean, sxx, sxy float64
	for _, l := range ls {
		mean += l.loneShare / float64(len(ls))
	}
	for _, l := range ls {
		d := l.loneShare - mean
		sxx, sxy = sxx+d*d, sxy+d*(l.theta[colInterOverIntra]-b.Mean[colInterOverIntra])
	}
	slope := sxy / (sxx + slopeRest*slopeRest/(slopeSD*slopeSD))
	if move := (share - mean) * slope; len(ls) > 1 && finite(move) { // NaN where a timer is missing
		b.Mean[colInterOverIntra] += move
	}
}

// Prior of the share of a link's bandwidth that training
// reaches between two nodes, as mean and sd of its logarithm: protocols and
// buckets leave anything from a tenth to nearly all of it.
const (
	achievedLn = -1.2 // ln .3
	achievedSD = 1
)

// link adds what bytes and bandwidth say of the time between two nodes:
// message / (bandwidth · achieved share), or without a known bandwidth the
// seconds per byte that other jobs of known size took.
func (b *borrowed) link(ls []lesson, g *group) error {
	if b.Parameters <= 0 {
		return nil
	}
	var mean, square, n float64
	if b.Interconnect > 0 {
		mean, square, n = -math.Log(b.Interconnect)-achievedLn, achievedSD*achievedSD, 1
	}
	for _, l := range ls {
		if finite(l.perByte) {
			d := l.perByte - mean
			n++
			mean += d / n
			square += d * (l.perByte - mean)
		}
	}
	if n == 0 || (n == 1 && b.Interconnect <= 0) {
		return nil
	}
	lnT, intra, err := g.intra(b)
	if err != nil {
		return err
	}
	ratio, variance := mean+math.Log(b.Parameters)-lnT-intra, square/n
	if g.hull.Widest[1] < 2 {
		variance += b.SD[colIntra] * b.SD[colIntra]
	}
	const c = colInterOverIntra
	for _, sd := range []*float64{&b.SD[c], &b.Wide[c]} {
		own := *sd * *sd
		if sd == &b.SD[c] {
			b.Mean[c] = (b.Mean[c]*variance + ratio*own) / (own + variance)
		}
		*sd = math.Sqrt(own * variance / (own + variance))
	}
	return nil
}

// intra returns ln of the typical compute time and the coordinate of the time
// inside a node as the group alone shows it under a prior.
func (g *group) intra(b *borrowed) (lnT, intra float64, err error) {
	sc := scaleOf(withMode(g.rows, g.mode))
	if g.hull.Widest[1] < 2 {
		return math.Log(sc.compute), b.Mean[colIntra], nil
	}
	theta, err := solveAlone(g)
	if err != nil {
		return 0, 0, err
	}
	return math.Log(sc.compute), theta[colIntra], nil
}
