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

	"knee/internal/quantile"
)

var learn = flag.Bool("learn", false, "learn prior.json from the recorded runs anew")

// leftOutFile holds, by job, the prior that was learned without it.
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

// knob is a number of the prior and the values tried for it.
type knob struct {
	name   string
	at     func(*prior) *float64
	values []float64
}

func knobs() []knob {
	return []knob{
		{"early", func(p *prior) *float64 { return &p.Early }, []float64{.25, .5, 1}},
		{"gap_median", func(p *prior) *float64 { return &p.GapMedian }, []float64{.05, .1}},
		{"gap_sd", func(p *prior) *float64 { return &p.GapSD }, []float64{.8, 1.2}},
		{"noise", func(p *prior) *float64 { return &p.Noise }, []float64{.01, .02}},
		{"misfit", func(p *prior) *float64 { return &p.Misfit }, []float64{.0025, .005, .01}},
	}
}

// question is one that a recorded run answers.
type question struct {
	job    string
	curve  *Curve
	target float64 // in the terms of the curve
	truth  float64 // steps
}

func questions(tb testing.TB, runs []recordedRun) []question {
	var qs []question
	for _, r := range runs {
		for _, percent := range []int{10, 20, 40} {
			n := max(len(r.points)*percent/100, 2)
			c, err := Fit(r.points[:n], 0, Settings{PlannedEpochs: float64(len(r.points))})
			if err != nil {
				tb.Fatal(err)
			}
			for _, part := range []float64{.90, .98} {
				if target, epoch := r.target(part, false); epoch > n {
					qs = append(qs, question{r.job, c, c.toLoss(target), r.points[epoch-1].Progress})
				}
			}
		}
	}
	return qs
}

// loss returns by job the sum of −ln of the chance given to the cell of the
// grid in which a target was met: every question counts alike.
func loss(qs []question, p prior) map[string]float64 {
	sums := map[string]float64{}
	for _, q := range qs {
		c := *q.curve
		c.known = &p
		_, a := c.arrive(q.target, First)
		mass := math.SmallestNonzeroFloat64
		for j, x := range a.x {
			if q.truth <= x+a.step/2 {
				mass += a.mass[j]
				break
			}
		}
		sums[q.job] -= math.Log(mass)
	}
	return sums
}

// learnScores sets each number of a prior to the value that foresaw the jobs
// kept best, the others as they were.
func learnScores(scores map[string]map[float64]map[string]float64, from prior, keep func(job string) bool) prior {
	out := from
	for _, k := range knobs() {
		best := math.Inf(1)
		for _, v := range k.values {
			sum := 0.0
			for job, l := range scores[k.name][v] {
				if keep(job) {
					sum += l
				}
			}
			if sum < best {
				best, *k.at(&out) = sum, v
			}
		}
	}
	return out
}

// learnTemplates measures how runs of a job differ: every run is compared with
// its neighbour in batch size.
func learnTemplates(p *prior, runs []recordedRun, keep func(job string) bool) {
	var pace, stretch, end, hit []float64 // mean squares by job
	before, uncut := 0., 0.               // time before a first cut of the learning rate, and before it or without one, in runs
	add := func(to *[]float64, ds []float64) {
		var ss float64
		for _, d := range ds {
			ss += d * d / float64(len(ds))
		}
		*to = append(*to, ss)
	}
	for i := 0; i < len(runs); {
		j := i
		for j < len(runs) && runs[j].job == runs[i].job {
			j++
		}
		var dp, ds, de, dh []float64
		for k := i + 1; k < j && keep(runs[i].job); k++ {
			a, b := runs[k-1], runs[k]
			ga, ea, sa := Template{pointsOf(a)}.course()
			gb, eb, sb := Template{pointsOf(b)}.course()
			half := func(g laid) float64 {
				return g.x[slices.IndexFunc(g.y, func(y float64) bool { return y <= .5 })]
			}
			dp, ds, de = append(dp, math.Log(half(gb)/half(ga))), append(ds, math.Log(sb/sa)), append(de, (eb-ea)/sa)
			for _, part := range []float64{.90, .95, .98} {
				target, at := a.target(part, false)
				if a.rises {
					target = -target
				}
				if h := slices.IndexFunc(b.loss, func(l float64) bool { return l <= target }); h >= 0 {
					dh = append(dh, math.Log(b.points[h].Progress/a.points[at-1].Progress))
				}
			}
		}
		if len(dp) > 0 {
			var first []float64 // cuts, in runs
			for _, r := range runs[i:j] {
				c := &Curve{Recorded: pointsOf(r)}
				if at := append(c.Cuts(), math.Inf(1))[0]; finite(at) {
					first = append(first, at/c.Recorded[len(c.Recorded)-1].X)
				}
			}
			if 2*len(first) > j-i { // what a single run shows may be noise
				before += quantile.Median(first)
				uncut += quantile.Median(first)
			} else {
				uncut++
			}
			add(&pace, dp)
			add(&stretch, ds)
			add(&end, de)
			add(&hit, dh)
		}
		i = j
	}
	rms := func(ss []float64) float64 {
		var sum float64
		for _, s := range ss {
			sum += s / float64(len(ss))
		}
		return math.Round(1e3*math.Sqrt(sum)) / 1e3
	}
	p.PaceSD, p.StretchSD, p.EndSD, p.HitSD = rms(pace), rms(stretch), rms(end), rms(hit)
	// Who looks at a course without cuts looks before one with this chance, by
	// Laplace's rule of succession.
	p.Break = math.Round(1e3*(before+1)/(uncut+2)) / 1e3
	// None of the plans was wrong about its targets: likewise.
	p.WrongPlan = math.Round(1e3/float64(len(pace)+2)) / 1e3
}

func pointsOf(r recordedRun) []Point {
	var out []Point
	for i, p := range r.points {
		out = append(out, Point{p.Progress, r.loss[i]})
	}
	return out
}

// TestLearn writes prior.json and what is learned with each job left out:
//
//	KNEE_BENCH=… go test -run Learn -learn -timeout 1h ./fit/convergence
func TestLearn(t *testing.T) {
	if !*learn {
		t.Skip("learns for some minutes, with -learn only")
	}
	runs := recordedRuns(t)
	qs := questions(t, runs)
	start := learned()
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
		learnTemplates(&p, runs, keep)
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
