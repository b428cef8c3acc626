package form

// Optimus's speed models (EuroSys'18, section 3.2), with k workers, p
// servers and M samples per step. Without servers p is 1.

// optimusSync is that of synchronous training:
//
//	T = θ0·M/k + θ1 + θ2·k/p + θ3·k + θ4·p
var optimusSync = linearFamily{
	names: []string{"theta0", "theta1", "theta2", "theta3", "theta4"},
	units: []string{"s/sample", "s", "s", "s/worker", "s/ps"},
	terms: func(p *Point) []float64 {
		return []float64{p.Global / p.Workers, 1, p.Workers / p.Servers, p.Workers, p.Servers}
	},
	compute: 2,
}

// optimusAsync is that of asynchronous training, where every worker makes one
// update per cycle:
//
//	T = (θ0 + θ1·k/p + θ2·k + θ3·p) / k
var optimusAsync = linearFamily{
	names: []string{"theta0", "theta1", "theta2", "theta3"},
	units: []string{"s", "s", "s/worker", "s/ps"},
	terms: func(p *Point) []float64 {
		return []float64{1, p.Workers / p.Servers, p.Workers, p.Servers}
	},
	compute: 1, perCycle: true,
}
