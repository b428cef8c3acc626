package agent

import "math"

// minimise is BFGS with a backtracking line search and central differences,
// for a handful of variables. It returns the best point it has seen.
func minimise(f func([]float64) float64, x []float64) []float64 {
	const iterations, tolerance = 60, 1e-7
	n := len(x)
	h := identity(n)
	fx, g := f(x), gradient(f, x)
	for range iterations {
		d := make([]float64, n)
		var slope, long float64
		for i := range n {
			for j := range n {
				d[i] -= h[i][j] * g[j]
			}
			slope += d[i] * g[i]
			long = math.Max(long, math.Abs(d[i]))
		}
		if slope >= 0 { // lost its way: start over downhill
			h = identity(n)
			slope, long = 0, 0
			for i := range n {
				d[i] = -g[i]
				slope -= g[i] * g[i]
				long = math.Max(long, math.Abs(d[i]))
			}
		}
		// A step moves no logarithm by more than 2.
		step := math.Min(1, 2/math.Max(long, 1e-300))
		next, fn, ok := x, fx, false
		for range 25 {
			next = along(x, d, step)
			if fn = f(next); fn <= fx+1e-4*step*slope {
				ok = true
				break
			}
			step /= 2
		}
		if !ok || fx-fn < tolerance*math.Max(1e-3, math.Abs(fx)) {
			if ok && fn < fx {
				return next
			}
			return x
		}
		gn := gradient(f, next)
		update(h, x, next, g, gn)
		x, fx, g = next, fn, gn
	}
	return x
}

func along(x, d []float64, t float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = x[i] + t*d[i]
	}
	return out
}

func identity(n int) [][]float64 {
	h := make([][]float64, n)
	for i := range h {
		h[i] = make([]float64, n)
		h[i][i] = 1
	}
	return h
}

// gradient by central differences.
func gradient(f func([]float64) float64, x []float64) []float64 {
	const e = 1e-5
	g := make([]float64, len(x))
	y := append([]float64(nil), x...)
	for i := range x {
		y[i] = x[i] + e
		up := f(y)
		y[i] = x[i] - e
		g[i] = (up - f(y)) / (2 * e)
		y[i] = x[i]
	}
	return g
}

// update is the BFGS update of the inverse Hessian h.
func update(h [][]float64, x, xn, g, gn []float64) {
	n := len(x)
	s, y, hy := make([]float64, n), make([]float64, n), make([]float64, n)
	var sy, yhy float64
	for i := range n {
		s[i], y[i] = xn[i]-x[i], gn[i]-g[i]
		sy += s[i] * y[i]
	}
	if sy < 1e-12 {
		return
	}
	for i := range n {
		for j := range n {
			hy[i] += h[i][j] * y[j]
		}
	}
	for i := range n {
		yhy += y[i] * hy[i]
	}
	for i := range n {
		for j := range n {
			h[i][j] += (1+yhy/sy)*s[i]*s[j]/sy - (hy[i]*s[j]+s[i]*hy[j])/sy
		}
	}
}
