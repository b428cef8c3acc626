package bayesopt

import "math"

// erfcxAsymptotic is where the asymptotic series takes over: there its ninth
// term is below 1e-19, and erfc is still a normal number.
const erfcxAsymptotic = 25

// erfcx returns the scaled complementary error function e^(x²)·erfc(x). It
// does not underflow for large x, where erfc(x) does; it overflows to +Inf
// below about −26.6. The relative error is below 1e-13.
func erfcx(x float64) float64 {
	switch {
	case x < 0:
		return 2*expSquare(x) - erfcx(-x)
	case x < erfcxAsymptotic:
		return expSquare(x) * math.Erfc(x)
	}
	// Abramowitz and Stegun 7.1.23: 1/(x√π)·Σ (−1)^k·(2k−1)!!/(2x²)^k. Not
	// formed as x², which would overflow for no reason.
	inv := 1 / x
	t := 0.5 * inv * inv
	sum := 1.0
	for k := 8; k >= 1; k-- {
		sum = 1 - float64(2*k-1)*t*sum
	}
	return sum * inv / math.Sqrt(math.Pi)
}

// expSquare returns e^(x²). The rounding error of x², which the exponential
// would magnify by x², is recovered by a fused multiply-add.
func expSquare(x float64) float64 {
	hi := x * x
	if math.IsInf(hi, 0) {
		return math.Inf(1)
	}
	return math.Exp(hi) * (1 + math.FMA(x, x, -hi))
}
