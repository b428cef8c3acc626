package convergence

import (
	"math"

	"knee/data"
)

// future is a grid of moments after the record at which the loss will be
// looked at, and the chance that the target is first met at each.
//
// A record is looked at once per step of the grid. As far out as single
// looks still matter the grid holds every one of them; further out a cell
// stands for several.
type future struct {
	x     []float64 // when the last look of a cell happens, steps
	looks []float64 // looks in the cell
	mass  []float64 // chance that the first hit is in the cell
	step  float64   // steps between looks
}

const (
	// futureGrowth is how much of its own x a cell may span: well under the
	// width of any interval worth giving.
	futureGrowth = .02
	// futureReach is how far the grid goes without a planned end, as a
	// multiple of the steps seen. What takes a thousand times the record
	// to happen is not something the record knows about.
	futureReach = 1000
)

// newFuture returns the empty grid after last, looking every step, to end.
func newFuture(last, step, end float64) *future {
	f := &future{step: step}
	for x := last; x < end; {
		n := math.Max(1, math.Floor(futureGrowth*x/step))
		x += n * step
		f.x, f.looks = append(f.x, x), append(f.looks, n)
	}
	f.mass = make([]float64, len(f.x))
	return f
}

// firstHitNoise is the part of the scatter around the curve that single
// looks add to it: the rest is error of the curve, which looks share. Leaving
// noise out predicts hits too late, as the luckiest of many looks hits first.
const firstHitNoise = .65

// eachHit visits the cells of the grid in which a curve may first hit the
// target, with the chance of each: a look at a curve of value f, with noise
// around it, hits with probability Φ((target − f)/(.65·noise)). It returns the
// chance that there is no hit.
func (f *future) eachHit(curve func(cell int) (loss, noise float64), target float64, visit func(cell int, chance float64)) float64 {
	left := 1.0
	for j := range f.x {
		loss, noise := curve(j)
		z := (target - loss) / math.Max(firstHitNoise*noise, 1e-12)
		if z < -6 {
			continue
		}
		hit := left
		if z < 6 {
			miss := .5 * math.Erfc(z/math.Sqrt2)
			if f.looks[j] > 1 {
				miss = math.Pow(miss, f.looks[j])
			}
			hit = left * (1 - miss)
		}
		visit(j, hit)
		if left -= hit; left < 1e-6 {
			return 0
		}
	}
	return left
}

// addHits spreads a weight over the grid by where a curve first hits the
// target. It returns the part that never does.
func (f *future) addHits(curve func(cell int) (loss, noise float64), target, weight float64) float64 {
	return weight * f.eachHit(curve, target, func(j int, chance float64) { f.mass[j] += weight * chance })
}

// total returns the chance that the target is met on the grid.
func (f *future) total() float64 {
	var sum float64
	for _, m := range f.mass {
		sum += m
	}
	return sum
}

// pool multiplies the density of the grid, to the power own, with another
// density, to the power of other: a logarithmic opinion pool (Genest and
// Zidek, 1986), which is right about two sources that share what they know,
// as the powers say how much each is believed.
func (f *future) pool(own float64, density func(cell int) float64, other float64) {
	top := math.Inf(-1)
	logs := make([]float64, len(f.mass))
	for j, m := range f.mass {
		logs[j] = own*math.Log(m/f.looks[j]) + other*math.Log(density(j))
		top = math.Max(top, logs[j])
	}
	if math.IsInf(top, -1) { // nowhere do both see a chance: keep the own view
		return
	}
	var total float64
	for j := range logs {
		f.mass[j] = f.looks[j] * math.Exp(logs[j]-top)
		total += f.mass[j]
	}
	for j := range f.mass {
		f.mass[j] /= total
	}
}

// quantile returns the look by which the target is met with probability p.
func (f *future) quantile(p float64) float64 {
	want, sum := p*f.total(), 0.0
	for j, m := range f.mass {
		if sum+m >= want && m > 0 {
			// Within a cell of several looks the hit is spread evenly.
			return f.x[j] - (f.looks[j]-1)*f.step*(1-(want-sum)/m)
		}
		sum += m
	}
	return f.x[len(f.x)-1]
}

// estimate returns the median with its 90 % interval. The interval is half a
// look wider on either side: looks to come are not at exactly these steps.
func (f *future) estimate() data.Estimate {
	e := data.Estimate{Mean: f.quantile(.5), Lo: f.quantile(.05), Hi: f.quantile(.95)}
	first := f.x[0] - f.looks[0]*f.step
	e.Lo, e.Hi = math.Max(e.Lo-f.step/2, first), e.Hi+f.step/2
	return e
}
