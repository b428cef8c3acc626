package speed

import (
	"cmp"
	"slices"

	"knee/fit/speed/form"
)

// pieceSize is the number of predictions in a unit of parallel work.
const pieceSize = 256

// piece is part of a run: questions of one group, GPU type and batch.
type piece struct {
	questions []question
	run       int
	sliced    bool // the run is long enough to use a batchSlice
}

// piecesOf sorts the questions by what they share, and divides them.
func piecesOf(asked []question) []piece {
	slices.SortStableFunc(asked, func(a, b question) int {
		return cmp.Or(compareRun(&a, &b), cmp.Compare(a.p.Workers, b.p.Workers), cmp.Compare(a.p.Nodes, b.p.Nodes), cmp.Compare(a.p.Widest, b.p.Widest))
	})
	var out []piece
	for run := 0; len(asked) > 0; run++ {
		n := 1
		for n < len(asked) && compareRun(&asked[n], &asked[0]) == 0 {
			n++
		}
		sliced := asked[0].p.BatchKnown && asked[0].p.Placed && asked[0].g.post.worthSlicing(n)
		for from := 0; from < n; from += pieceSize {
			out = append(out, piece{asked[from:min(from+pieceSize, n)], run, sliced})
		}
		asked = asked[n:]
	}
	return out
}

// compareRun orders questions by run.
func compareRun(a, b *question) int {
	return cmp.Or(cmp.Compare(a.g.mode, b.g.mode), cmp.Compare(a.p.Type, b.p.Type), cmp.Compare(a.g.types[0], b.g.types[0]), cmp.Compare(a.p.Batch, b.p.Batch))
}

// answering is the cache of one goroutine between predictions, by posterior.
type answering struct {
	memos  map[*posterior]*memo
	slices map[*posterior]*batchSlice // of the run, if sliced
	run    int
}

// begin makes room for the posteriors of a group.
func (a *answering) begin(g *group) {
	if a.memos == nil {
		a.memos = map[*posterior]*memo{}
	}
	for _, post := range g.posteriors() {
		if a.memos[post] == nil {
			a.memos[post] = newMemo()
		}
	}
}

func (a *answering) answer(p *piece, out []Prediction) {
	a.begin(p.questions[0].g)
	if a.slices == nil || a.run != p.run {
		a.slices, a.run = map[*posterior]*batchSlice{}, p.run
	}
	for _, post := range p.questions[0].g.posteriors() {
		if p.sliced && a.slices[post] == nil {
			a.slices[post] = post.sliceAt(&p.questions[0].p)
		}
	}
	var s sampled
	for i := range p.questions {
		q := &p.questions[i]
		out[q.at] = q.prediction(&s, a)
	}
}

// spread is [posterior.spread] with the cache.
func (a *answering) spread(post *posterior, p *form.Point, of, process []float64) {
	if s := a.slices[post]; s != nil {
		s.spread(p, a.memos[post], of, process)
	} else {
		post.spread(p, a.memos[post], of, process)
	}
}

// memo caches the compute and synchronisation times of all posterior draws, by
// what they depend on: a sweep repeats few distinct values, and they are most
// of the work.
type memo struct {
	parts   map[int][]form.Parts // of the curves, by GPU type
	compute map[computeKey][]float64
	sync    map[placeKey][]float64
}

type computeKey struct {
	t             int
	batch, widest float64
}

type placeKey struct {
	t                             int
	workers, nodes, widest, split float64
}

func newMemo() *memo {
	return &memo{map[int][]form.Parts{}, map[computeKey][]float64{}, map[placeKey][]float64{}}
}

// addSteps adds ln step time of each curve to sum. A nil memo caches nothing.
func (t *memo) addSteps(curves []form.Curve, p *form.Point, sum []float64) {
	if t == nil || len(curves) == 0 || !form.IsSeparable(curves[0]) {
		for d, c := range curves {
			step, _ := c.LogTimes(p)
			sum[d] += step
		}
		return
	}
	parts := t.parts[p.Type]
	if parts == nil {
		for _, c := range curves {
			parts = append(parts, form.PartsOf(c, p.Type))
		}
		t.parts[p.Type] = parts
	}
	n := len(curves)
	compute := remembered(t.compute, computeKey{p.Type, p.Batch, p.Widest}, 2*n, func(v []float64) { // ln, then powers
		for d, c := range parts {
			v[d] = c.LnCompute(p)
			v[n+d] = c.ComputePower(v[d])
		}
	})
	bare := *p // the key has no effect on links
	bare.LnLinks = 0
	sync := remembered(t.sync, placeKey{p.Type, p.Workers, p.Nodes, p.Widest, p.LnSplit}, n, func(v []float64) {
		for d, c := range parts {
			v[d] = c.SyncPower(&bare)
		}
	})
	at, factors := *p, parts[0].Factors(p)
	for d, c := range parts {
		step, links := c.Effects(factors)
		factor := 1.
		if at.LnLinks = p.LnLinks + links; at.LnLinks != 0 {
			factor = c.Raise(at.LnLinks)
		}
		sum[d] += p.LnStep + step + c.Join(&at, compute[d], compute[n+d], factor*sync[d])
	}
}

// maxMemo bounds the entries of each table; a full table is cleared.
const maxMemo = 1024

// remembered returns n values, cached in table.
func remembered[K comparable](table map[K][]float64, key K, n int, fill func(v []float64)) []float64 {
	if v, ok := table[key]; ok {
		return v
	}
	if len(table) >= maxMemo {
		clear(table)
	}
	v := make([]float64, n)
	fill(v)
	table[key] = v
	return v
}
