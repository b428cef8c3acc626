package convergence

import "math"

// shape falls from 1 at x = 0 to 0 at infinity: the power law of learning
// curves (1 + x/scale)^−bend (Hestness et al., 2017), or the stretched
// exponential exp(−(x/scale)^bend) (Domhan et al., IJCAI'15, "weibull").
type shape struct {
	power       bool
	scale, bend float64 // steps, exponent
	warmup      float64 // steps over which the learning rate rose, 0 without
}

func (g shape) at(x float64) float64 {
	x = warmed(math.Max(x, 0), g.warmup) / g.scale
	if g.power { // exponentials of logarithms take a third of the time of math.Pow
		return math.Exp(-g.bend * math.Log(1+x))
	}
	return math.Exp(-math.Exp(g.bend * math.Log(x)))
}

// warmed returns the steps at the full learning rate that are worth x steps with a linear
// warm-up: the integral of the learning rate (Goyal et al., 2017, section 2.2).
func warmed(x, warmup float64) float64 {
	if x < warmup {
		return x * x / (2 * warmup)
	}
	return x - warmup/2
}

// patch is a rectangle of shapes in the logarithms of scale and exponent, over
// which the prior of either form is uniform. Scales are on top of base: power
// laws with scales well below the first point look alike.
type patch struct {
	power         bool
	base          float64 // steps
	scale, bend   float64 // ln of the centre
	width, height float64
}

// centre returns the shape at the centre, after a warm-up.
func (p patch) centre(warmup float64) shape {
	return shape{p.power, math.Exp(p.scale) - p.base, math.Exp(p.bend), warmup}
}

// quarters divides a patch.
func (p patch) quarters() (all []patch) {
	w, h := p.width/2, p.height/2
	for _, i := range []float64{-.5, .5} {
		for _, j := range []float64{-.5, .5} {
			all = append(all, patch{p.power, p.base, p.scale + i*w, p.bend + j*h, w, h})
		}
	}
	return all
}

// scaleNodes and bendNodes are the undivided scales and exponents of each form.
const scaleNodes, bendNodes = 8, 4

// patches returns the undivided patches for a record of so many points and steps.
func patches(points int, seen float64) (all []patch) {
	add := func(power bool, base, least, most, low, high float64) {
		first, w := math.Log(base+least*seen), math.Log((base+most*seen)/(base+least*seen))/scaleNodes
		h := math.Log(high/low) / bendNodes
		for i := range scaleNodes {
			for j := range bendNodes {
				all = append(all, patch{power, base, first + (float64(i)+.5)*w, math.Log(low) + (float64(j)+.5)*h, w, h})
			}
		}
	}
	add(true, seen/float64(points), 0, 4, 1./8, 4)
	add(false, 0, 1./32, 32, 1./4, 2)
	return all
}
