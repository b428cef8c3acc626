package form

// ernest is the model of Ernest (NSDI'16, section 3.2), with one optimizer
// step as the unit of work and its samples M as the scale:
//
//	T = θ0 + θ1·M/k + θ2·ln k + θ3·k
var ernest = linearFamily{
	names: []string{"theta0", "theta1", "theta2", "theta3"},
	units: []string{"s", "s/sample", "s", "s/worker"},
	terms: func(p *Point) []float64 {
		return []float64{1, p.Global / p.Workers, p.LnWorkers, p.Workers}
	},
	compute: 2,
}

// ernestAsync is the model of a worker's cycle in ps-async, where an update has
// one worker's samples and a cycle has k updates.
var ernestAsync = linearFamily{
	names: ernest.names, units: ernest.units, compute: 2, perCycle: true,
	terms: func(p *Point) []float64 { return []float64{1, p.Global, p.LnWorkers, p.Workers} },
}
