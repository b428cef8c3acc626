package convergence

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"knee/data"
)

var learn = flag.Bool("learn", false, "learn prior.json from the recorded runs anew")

// leftOutFile has, by job, the prior learned without it.
var leftOutFile = filepath.Join("testdata", "left-out.json")

// leftOut returns the priors learned without each job.
func leftOut(tb testing.TB) map[string]*prior {
	text, err := os.ReadFile(leftOutFile)
	if err != nil {
		tb.Fatal(err)
	}
	var out map[string]*prior
	if err := json.Unmarshal(text, &out); err != nil {
		tb.Fatal(err)
	}
	return out
}

// knob is a number of the prior and its candidate values.
type knob struct {
	name   string
	at     func(*prior) *float64
	values []float64
}

func knobs() []knob {
	return []knob{
		{"gap_median", func(p *prior) *float64 { return &p.GapMedian }, []float64{.025, .05, .1, .2, .4}},
		{"gap_sd", func(p *prior) *float64 { return &p.GapSD }, []float64{.4, .8, 1.2, 1.6}},
	}
}

// question is a target and when a recorded run reached it.
type question struct {
	job    string
	curve  *Curve
	target float64 // scaled as the curve
	truth  float64 // steps
}

// questions returns the questions about each run, with and without finished
// runs.
func questions(tb testing.TB, runs []recordedRun) []question {
	var qs []question
	for _, r := range runs {
		for _, percent := range []int{10, 20, 40} {
			for _, finished := range [][][]data.CurvePoint{nil, templatesOf(runs, r)} {
				n := max(len(r.points)*percent/100, 2)
				c, err := Fit(r.points[:n], 0, Settings{PlannedEpochs: float64(len(r.points)), Templates: finished, Reach: First})
				if err != nil {
					tb.Fatal(err)
				}
				for _, part := range []float64{.90, .95, .98} {
					for _, ofTheWay := range []bool{false, true} {
						if target, epoch := r.target(part, ofTheWay); epoch > n {
							qs = append(qs, question{r.job, c, c.toLoss(target), r.points[epoch-1].Progress})
						}
					}
				}
			}
		}
	}
	return qs
}

// loss returns, by job, the mean of −ln of the probability of the grid cell in
// which a target was met.
func loss(qs []question, p prior) map[string]float64 {
	sums, counts := map[string]float64{}, map[string]float64{}
	for _, q := range qs {
		c := *q.curve
		c.known = &p
		_, a := c.arrive(q.target, math.Inf(1))
		mass := math.SmallestNonzeroFloat64
		for j, x := range a.x {
			if q.truth <= x+a.step/2 {
				mass += a.mass[j]
				break
			}
		}
		sums[q.job] -= math.Log(mass)
		counts[q.job]++
	}
	for job, n := range counts {
		sums[job] /= n
	}
	return sums
}

// learnScores sets each number of a prior to its posterior mean, in the
// logarithm, over its candidate values, weighted by their fit to the jobs kept,
// with the other numbers unchanged.
func learnScores(scores map[string]map[float64]map[string]float64, from prior, keep func(job string) bool) prior {
	out := from
	for _, k := range knobs() {
		var logs, weights []float64
		for _, v := range k.values {
			var sum float64
			for job, l := range scores[k.name][v] {
				if keep(job) {
					sum += l
				}
			}
			logs, weights = append(logs, math.Log(v)), append(weights, math.Exp(-sum))
		}
		*k.at(&out) = rounded(math.Exp(stat.Mean(logs, weights)))
	}
	return out
}

func rounded(v float64) float64 { return math.Round(1e3*v) / 1e3 }

// cutAfter is the share of a run before a job's first learning-rate cut: epoch
// 30 of 90 for imagenet; others have none.
var cutAfter = map[string]float64{"imagenet": 1. / 3}

// warmedUp are the jobs whose learning rate rose from 0: yolov3's over its first 2 epochs.
var warmedUp = map[string]bool{"yolov3": true}

// learnRates sets the probabilities and HitSD of a prior, the latter by
// comparing when neighbouring batch sizes of a job reach targets.
func learnRates(p *prior, runs []recordedRun, keep func(job string) bool) {
	squares := map[string][]float64{} // squared differences of logarithms, by job
	for k := 1; k < len(runs); k++ {
		a, b := runs[k-1], runs[k]
		if a.job != b.job || !keep(a.job) {
			continue
		}
		for _, part := range []float64{.90, .95, .98} {
			target, at := a.target(part, false)
			if a.rises {
				target = -target
			}
			if h := slices.IndexFunc(b.loss, func(l float64) bool { return l <= target }); h >= 0 {
				d := math.Log(b.points[h].Progress / a.points[at-1].Progress)
				squares[a.job] = append(squares[a.job], d*d)
			}
		}
	}
	var means []float64
	warmed := 0.
	before, uncut := 0., 0. // sums over jobs of the share before a first cut, and of the share before it or without one
	for job, ss := range squares {
		means = append(means, stat.Mean(ss, nil))
		at, cut := cutAfter[job]
		if before += at; !cut {
			at = 1
		}
		uncut += at
		if warmedUp[job] {
			warmed++
		}
	}
	// Laplace's rule of succession: the probability that a record without cuts
	// is followed by one, that a learning rate is warmed up, that a plan is wrong, as none
	// was, and that a learning rate decays to the planned end, as none is known to.
	p.Break = rounded((before + 1) / (uncut + 2))
	p.Warmup = rounded((warmed + 1) / float64(len(means)+2))
	slices.Sort(means)
	p.HitSD = rounded(math.Sqrt(stat.Mean(means, nil)))
	p.WrongPlan = rounded(1 / float64(len(means)+2))
	p.Schedule = p.WrongPlan
}

// TestLearn writes prior.json and the priors with each job left out:
//
//	KNEE_BENCH=… go test ./fit/convergence -run Learn -timeout 1h -learn
func TestLearn(t *testing.T) {
	if !*learn {
		t.Skip("learns for some minutes, with -learn only")
	}
	runs := recordedRuns(t)
	qs := questions(t, runs)
	start := prior{GapMedian: .1, GapSD: .8} // round starting values
	learnRates(&start, runs, func(string) bool { return true })
	scores := map[string]map[float64]map[string]float64{}
	base := loss(qs, start)
	t.Logf("as it is: %v", base)
	for _, k := range knobs() {
		scores[k.name] = map[float64]map[string]float64{}
		for _, v := range k.values {
			p := start
			if *k.at(&p) == v {
				scores[k.name][v] = base
				continue
			}
			*k.at(&p) = v
			scores[k.name][v] = loss(qs, p)
			t.Logf("%s %g: %v", k.name, v, scores[k.name][v])
		}
	}
	learnFrom := func(keep func(string) bool) prior {
		p := learnScores(scores, start, keep)
		learnRates(&p, runs, keep)
		return p
	}
	jobs := map[string]*prior{}
	for _, r := range runs {
		if jobs[r.job] == nil {
			p := learnFrom(func(job string) bool { return job != r.job })
			p.Provenance = "learned without " + r.job
			jobs[r.job] = &p
		}
	}
	all := learnFrom(func(string) bool { return true })
	all.Provenance = fmt.Sprintf("learned by TestLearn from %d recorded runs of %d jobs (Pollux, OSDI'21, artifact, Apache-2.0)", len(runs), len(jobs))
	for path, v := range map[string]any{"prior.json": all, leftOutFile: jobs} {
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
