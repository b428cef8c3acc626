package gavel

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
)

// random is a problem of up to 8 jobs on up to 3 types.
func random(r *rand.Rand) *Problem {
	p := &Problem{}
	for range 1 + r.IntN(3) {
		p.GPUs = append(p.GPUs, float64(1+r.IntN(8)))
	}
	for range 1 + r.IntN(8) {
		p.Size = append(p.Size, float64(int(1)<<r.IntN(3)))
		var speed []float64
		for range p.GPUs {
			speed = append(speed, math.Exp(2*r.NormFloat64()))
			if r.IntN(5) == 0 {
				speed[len(speed)-1] = 0
			}
		}
		p.Speed = append(p.Speed, speed)
	}
	return p
}

// rate is the speed of job i under an allocation.
func (p *Problem) rate(i int, share [][]float64) float64 {
	var v float64
	for k, x := range share[i] {
		v += x * p.Speed[i][k]
	}
	return v
}

// reference is the largest least speed over need by gonum's simplex method,
// over the jobs that can run.
func reference(p *Problem, need []float64) (float64, error) {
	var jobs []int
	for i := range p.Size {
		if p.Equal(i) > 0 {
			jobs = append(jobs, i)
		}
	}
	n, kinds := len(jobs), len(p.GPUs)
	rows := 2*n + kinds
	shares, row := 0, make([]int, len(p.Size))
	for at, i := range jobs {
		row[i] = at
		for k := range kinds {
			if p.speed(i, k) > 0 {
				shares++
			}
		}
	}
	for _, pair := range p.Pairs {
		for k := range kinds {
			if pair.Speed[k][0] > 0 {
				shares++
			}
		}
	}
	cols := shares + 1 + rows // shares, the level, slacks
	a, b, c := mat.NewDense(rows, cols, nil), make([]float64, rows), make([]float64, cols)
	c[shares] = -1
	col := 0
	for at, i := range jobs {
		for k := range kinds {
			if s := p.speed(i, k); s > 0 {
				a.Set(at, col, 1)
				a.Set(n+at, col, -s/need[i])
				a.Set(2*n+k, col, p.Size[i]/p.GPUs[k])
				col++
			}
		}
		a.Set(n+at, shares, 1)
		b[at] = 1
	}
	for _, pair := range p.Pairs {
		for k := range kinds {
			if pair.Speed[k][0] > 0 {
				for x, i := range []int{pair.A, pair.B} {
					a.Set(row[i], col, 1)
					a.Set(n+row[i], col, -pair.Speed[k][x]/need[i])
				}
				a.Set(2*n+k, col, p.Size[pair.A]/p.GPUs[k])
				col++
			}
		}
	}
	for k := range kinds {
		b[2*n+k] = 1
	}
	basis := make([]int, rows)
	for r := range rows {
		a.Set(r, shares+1+r, 1)
		basis[r] = shares + 1 + r
	}
	v, _, err := lp.Simplex(c, a, b, 1e-12, basis)
	return -v, err
}

// check fails if shares are not an allocation.
func check(t *testing.T, p *Problem, a Allocation) {
	t.Helper()
	used := make([]float64, len(p.GPUs))
	for i, share := range a.Share {
		time := 0.0
		for k, x := range share {
			if x < 0 || x > 0 && p.speed(i, k) == 0 {
				t.Fatalf("share %g of job %d on type %d", x, i, k)
			}
			time += x
			used[k] += x * p.Size[i]
		}
		if time > 1+1e-6 {
			t.Fatalf("job %d runs %g of the time", i, time)
		}
	}
	for k, u := range used {
		if u > p.GPUs[k]*(1+1e-6) {
			t.Fatalf("%g of %g GPUs of type %d", u, p.GPUs[k], k)
		}
	}
}

// TestOptimum: on 1,000 random instances and three objectives the value is
// within 1 % of what gonum's simplex method finds, the bound not below it.
func TestOptimum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	solved, worst := 0, 1.0
	for solved < 3000 {
		p := random(r)
		n := len(p.Size)
		need, left, age, isolated := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		some := false
		for i := range need {
			need[i], left[i] = math.Exp(r.NormFloat64()), 1000*math.Exp(r.NormFloat64())
			age[i], isolated[i] = 1000*r.Float64(), 1000*r.Float64()
			some = some || p.Equal(i) > 0
		}
		if !some {
			continue
		}
		for _, need := range [][]float64{need, left} { // max-min, makespan
			a := p.MaxMin(need)
			check(t, p, a)
			want, err := reference(p, need)
			if err != nil {
				continue
			}
			solved++
			worst = math.Min(worst, a.Level/want)
			if a.Level < 0.99*want || a.Level > want*(1+1e-6) || a.Bound < want*(1-1e-6) {
				t.Fatalf("level %g, bound %g, want %g: %+v, need %v", a.Level, a.Bound, want, p, need)
			}
		}
		a := p.FinishTime(age, isolated, left)
		check(t, p, a)
		level := func(rho float64) (float64, error) { // at least 1 where gonum can reach rho
			need := make([]float64, n)
			for i := range need {
				need[i] = 1
				if own := p.Equal(i); own > 0 {
					need[i] = left[i] / (rho*(isolated[i]+left[i]/own) - age[i])
				}
				if !(need[i] > 0) {
					return 0, nil
				}
			}
			return reference(p, need)
		}
		above, err := level(a.Level * 1.001)
		below, err2 := level(a.Level * 0.99)
		if err != nil || err2 != nil {
			continue
		}
		solved++
		if above < 1 || below >= 1 {
			t.Fatalf("fairness %g: the reference reaches %g of the need at 0.1 %% more, %g at 1 %% less: %+v", a.Level, above, below, p)
		}
	}
	if t.Logf("%d instances, the worst is %.6f of the optimum", solved, worst); worst < 0.99 {
		t.Errorf("the worst is %g of the optimum", worst)
	}
}

// TestPairs: where pairs of equal size may share GPUs, the level is what gonum's
// simplex method finds, which is never below the one without them.
func TestPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	better := 0
	for solved := 0; solved < 1000; {
		p := random(r)
		need := make([]float64, len(p.Size))
		for i := range need {
			need[i] = math.Exp(r.NormFloat64())
			for j := range i {
				pair := Pair{A: i, B: j, Speed: make([][2]float64, len(p.GPUs))}
				for k := range p.GPUs {
					if a, b := p.speed(i, k), p.speed(j, k); p.Size[i] == p.Size[j] && a > 0 && b > 0 {
						pair.Speed[k] = [2]float64{a * (0.3 + 0.7*r.Float64()), b * (0.3 + 0.7*r.Float64())}
					}
				}
				p.Pairs = append(p.Pairs, pair)
			}
		}
		want, err := reference(p, need)
		if err != nil || want == 0 || len(p.Pairs) == 0 {
			continue
		}
		solved++
		a := p.MaxMin(need)
		checkPairs(t, p, need, a)
		if a.Level < want*(1-1e-3) || a.Level > want*(1+1e-6) || a.Bound < want*(1-1e-6) {
			t.Fatalf("level %g, bound %g, want %g: %+v, need %v", a.Level, a.Bound, want, p, need)
		}
		alone := &Problem{Speed: p.Speed, Size: p.Size, GPUs: p.GPUs}
		if before := alone.MaxMin(need).Level; before > a.Level*(1+1e-3) {
			t.Fatalf("level %g with pairs, %g without", a.Level, before)
		} else if before < 0.99*a.Level {
			better++
		}
	}
	if better == 0 {
		t.Error("pairs never help")
	}
}

// TestPairsThatGainNothing: where two jobs beside each other are as fast as by
// turns, water filling with pairs and without give every job the same level.
func TestPairsThatGainNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for solved := 0; solved < 1000; {
		p := random(r)
		need := make([]float64, len(p.Size))
		alone := &Problem{Speed: p.Speed, Size: p.Size, GPUs: p.GPUs}
		for i := range need {
			need[i] = math.Exp(r.NormFloat64())
			for j := range i {
				pair := Pair{A: i, B: j, Speed: make([][2]float64, len(p.GPUs))}
				for k := range p.GPUs {
					if a, b := p.speed(i, k), p.speed(j, k); p.Size[i] == p.Size[j] && a > 0 && b > 0 {
						pair.Speed[k] = [2]float64{a / 2, b / 2}
					}
				}
				p.Pairs = append(p.Pairs, pair)
			}
		}
		if len(p.Pairs) == 0 {
			continue
		}
		solved++
		a, want := p.MaxMin(need), alone.MaxMin(need)
		checkPairs(t, p, need, a)
		for i := range need {
			got := p.rate(i, a.Share)
			for n, pair := range p.Pairs {
				for k, x := range a.Packed[n] {
					if pair.A == i {
						got += x * pair.Speed[k][0]
					}
					if pair.B == i {
						got += x * pair.Speed[k][1]
					}
				}
			}
			if level := alone.rate(i, want.Share); math.Abs(got-level) > 1e-4*math.Max(level, need[i]*want.Level) {
				t.Fatalf("job %d is at %g with pairs, %g without: %+v, need %v", i, got, level, p, need)
			}
		}
	}
}

// checkPairs fails if the shares with pairs take more than there is, or do not
// give the level they say.
func checkPairs(t *testing.T, p *Problem, need []float64, a Allocation) {
	t.Helper()
	used, time, speed := make([]float64, len(p.GPUs)), make([]float64, len(p.Size)), make([]float64, len(p.Size))
	add := func(i, k int, x, v float64) {
		time[i] += x
		speed[i] += x * v
	}
	for i := range a.Share {
		for k, x := range a.Share[i] {
			add(i, k, x, p.Speed[i][k])
			used[k] += x * p.Size[i]
		}
	}
	for n, pair := range p.Pairs {
		for k, x := range a.Packed[n] {
			add(pair.A, k, x, pair.Speed[k][0])
			add(pair.B, k, x, pair.Speed[k][1])
			used[k] += x * p.Size[pair.A]
		}
	}
	for i := range time {
		if time[i] > 1+1e-6 || p.Equal(i) > 0 && speed[i]/need[i] < a.Level*(1-1e-4) {
			t.Fatalf("job %d runs %g of the time at %g of its need, level %g", i, time[i], speed[i]/need[i], a.Level)
		}
	}
	for k, u := range used {
		if u > p.GPUs[k]*(1+1e-6) {
			t.Fatalf("%g of %g GPUs of type %d", u, p.GPUs[k], k)
		}
	}
}

// TestWaterFilling: three jobs of which one runs on the small type only, which
// a second can leave. By hand: x and y share the one k80; z and y the v100.
func TestWaterFilling(t *testing.T) {
	p := &Problem{GPUs: []float64{1, 2}, Size: []float64{1, 1, 1}, Speed: [][]float64{{1, 0}, {1, 1}, {0, 4}}}
	a := p.MaxMin([]float64{4, 1, 1})
	check(t, p, a)
	// x has the k80 for itself and reaches 1/4; the others reach 1 and 4.
	for i, want := range []float64{1, 1, 4} {
		if got := p.rate(i, a.Share); math.Abs(got-want) > 1e-6 {
			t.Errorf("job %d runs at %g, want %g", i, got, want)
		}
	}
	if math.Abs(a.Level-0.25) > 1e-9 {
		t.Errorf("level %g, want 0.25", a.Level)
	}
}

func BenchmarkMaxMin(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	p := &Problem{GPUs: []float64{64, 32, 16}}
	var need []float64
	for range 500 {
		p.Size = append(p.Size, float64(int(1)<<r.IntN(4)))
		p.Speed = append(p.Speed, []float64{1, 1 + 2*r.Float64(), 2 + 6*r.Float64()})
		need = append(need, 1+r.Float64())
	}
	for b.Loop() {
		a := p.MaxMin(need)
		b.ReportMetric(a.Level/a.Bound, "of-bound")
	}
}
