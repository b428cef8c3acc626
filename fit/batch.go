package fit

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"knee/data"
)

// PredictAll predicts many configurations: the numbers of [Model.Predict], up
// to rounding, in the same order, on all processors and with what they share
// computed once. The numbers do not depend on the processors. It fails with
// the error of the first configuration that Predict refuses, and says which
// that is, counted from 0.
func (m *Model) PredictAll(cs []data.Config) ([]Prediction, error) {
	asked := make([]question, len(cs))
	errs := make([]error, len(cs)/pieceSize+1)
	inParallel(len(errs), func() func(int) {
		return func(piece int) {
			for i := piece * pieceSize; i < min((piece+1)*pieceSize, len(cs)); i++ {
				var err error
				if asked[i], err = m.ask(cs[i], i); err != nil {
					errs[piece] = fmt.Errorf("configuration %d: %w", i, err)
					return
				}
			}
		}
	})
	for _, err := range errs { // the pieces ascend, so the first error is the first
		if err != nil {
			return nil, err
		}
	}
	out := make([]Prediction, len(cs))
	pieces := m.pieces(asked)
	inParallel(len(pieces), func() func(int) {
		a := &answering{memos: map[*group]*memo{}}
		return func(i int) { a.answer(pieces[i], out) }
	})
	return out, nil
}

// pieceSize is how many predictions are handed to a processor at a time.
const pieceSize = 256

// inParallel runs piece(0) to piece(n−1) on all processors, in any order;
// every processor makes a piece function of its own.
func inParallel(n int, worker func() func(piece int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			piece := worker()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				piece(i)
			}
		})
	}
	wg.Wait()
}

// question is a configuration that [Model.Predict] understood.
type question struct {
	at     int // in the order asked
	g      *group
	p      point
	beyond float64 // further sd of ln step time
	why    string
}

func (m *Model) ask(c data.Config, at int) (question, error) {
	g, c, err := m.resolve(c)
	if err != nil {
		return question{}, err
	}
	return question{at: at, g: g, p: pointOf(c, g.stack.scale), why: g.hull.outside(c, g.mode),
		beyond: beyondSD * g.hull.beyond(c, g.mode)}, nil
}

// prediction adds to a step time what else was answered.
func (q *question) prediction(e data.Estimate) Prediction {
	return Prediction{StepTime: e, Extrapolated: q.why != "", Support: q.g.count, Why: q.why}
}

// piece is some questions of one run: a group and, where its kernel allows,
// one batch.
type piece struct {
	questions []question
	run       int
	sliced    bool // the run is long enough for a slice
}

// pieces sorts the questions so that those that share most are neighbours.
func (m *Model) pieces(asked []question) []piece {
	order := map[*group]int{}
	for i, g := range m.groups {
		order[g] = i
	}
	key := func(q *question) float64 {
		if k, ok := q.g.stack.kernel.(productKernel); ok && q.g.stack.smooth {
			return k.batchKey(&q.p)
		}
		return 0
	}
	// What is sorted is small: questions are large, and are moved only once.
	type rank struct {
		group                       int
		key, workers, nodes, widest float64
		from                        int
	}
	ranks := make([]rank, len(asked))
	for i := range asked {
		q := &asked[i]
		ranks[i] = rank{order[q.g], key(q), q.p.workers, q.p.nodes, q.p.widest, i}
	}
	slices.SortFunc(ranks, func(a, b rank) int {
		if c := cmp.Compare(a.group, b.group); c != 0 {
			return c
		}
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.workers, b.workers), cmp.Compare(a.nodes, b.nodes), cmp.Compare(a.widest, b.widest), a.from-b.from)
	})
	sorted := make([]question, len(asked))
	for i, r := range ranks {
		sorted[i] = asked[r.from]
	}
	asked = sorted
	var out []piece
	for run := 0; len(asked) > 0; run++ {
		n := 1
		for n < len(asked) && asked[n].g == asked[0].g && key(&asked[n]) == key(&asked[0]) {
			n++
		}
		sliced := asked[0].g.stack.worthSlicing(n)
		for from := 0; from < n; from += pieceSize {
			out = append(out, piece{asked[from:min(from+pieceSize, n)], run, sliced})
		}
		asked = asked[n:]
	}
	return out
}

// answering is what one processor remembers between pieces.
type answering struct {
	memos map[*group]*memo
	slice *batchSlice // of the last run that had one
	run   int
}

func (a *answering) answer(p piece, out []Prediction) {
	g := p.questions[0].g
	if a.memos[g] == nil {
		a.memos[g] = newMemo()
	}
	if p.sliced && (a.slice == nil || a.run != p.run) {
		a.slice, a.run = g.stack.sliceAt(&p.questions[0].p), p.run
	}
	for i := range p.questions {
		q := &p.questions[i]
		if p.sliced {
			out[q.at] = q.prediction(a.slice.predict(&q.p, q.beyond, a.memos[g]))
		} else {
			out[q.at] = q.prediction(g.stack.predict(&q.p, q.beyond, a.memos[g]))
		}
	}
}
