package main

import (
	"math"

	"knee/fit/prior"
)

// Prior standard deviations from physics, of logarithms unless noted.
const (
	within  = 1   // within a factor of e either way, two times in three
	orders  = 1.5 // orders of magnitude: communication relative to computing
	uniform = 1.7 // of a logit: the normal nearest to a uniform share (Johnson, Kotz and Balakrishnan, 1995, section 23.5)
	beyond  = .1  // mean and sd of a power beyond bandwidth: latency and stragglers grow slowly
	faster  = -1  // ln of the time over NVLink relative to a slower link: about a third
)

// start returns the prior that learning starts from.
func start() *prior.Speed {
	about := func(mean, sd float64) prior.Coordinate { return prior.Coordinate{Mean: mean, SD: sd} }
	nvlink := func(c prior.Coordinate) prior.Coordinate {
		c.NVLink = faster
		return c
	}
	const half, part, small, tiny = -.7, -1., -1.5, -4. // e⁻·⁷, a half of a step; e⁻¹, a third; e⁻¹·⁵, a fifth; e⁻⁴, a fiftieth
	// ln of the power with which all-reduces slow down beyond a ring's as GPUs of a node
	// are added: on PCIe they share bridges. The powers of three types measured
	// (TestIntraPower of package speed) are 0, .3 and 1.6; on NVLink they are −.3 to 0.
	intra := prior.Coordinate{Mean: half, SD: orders, NVLink: -3}
	return &prior.Speed{
		Forms: map[string]map[string]prior.Coordinate{
			"collective": {
				"compute":          about(0, within),
				"fixed_share":      about(small, orders),
				"overlap":          about(0, uniform),
				"intra":            nvlink(about(small, math.Ln10)), // within a factor of ten: models compute little or much with every parameter
				"inter_over_intra": {Mean: 0, SD: math.Ln10, NVLink: -faster},
				"tree":             about(0, within/2.), // algorithms for more nodes send twice or half as much
				"power":            about(beyond, beyond),
				"intra_power":      intra,
				"crowding":         about(tiny, orders),
				"input":            about(part, within),
			},
			"ps": {
				"fixed":         about(part, within),
				"compute":       about(part, within),
				"transfer":      about(part, within),
				"workers_power": about(1, 3*beyond),
				"servers_power": about(1, 3*beyond),
				"per_worker":    about(tiny, orders),
				"per_server":    about(tiny, orders),
				"update":        about(part, within),
			},
			// Links between nodes are as fast as inside (PCIe and InfiniBand) or up to a
			// hundred times slower (NVLink and Ethernet).
			"layout": {
				"compute":        about(0, within),
				"launch":         about(small, within),
				"launch_overlap": about(uniform, uniform),         // launches run mostly ahead; what small matrices lose adds up
				"scores":         about(small, math.Ln10),         // a score takes 1536 operations and up to 30 bytes, which memory takes longer for; few if it is not kept
				"recompute":      about(math.Log(1./3), 2*beyond), // the forward pass again, a third of forward and backward
				"selective":      about(2*small, within),
				"tensor":         nvlink(about(small, within)),
				"intra_power":    intra,
				"tensor_inter":   about(-small, orders),
				"p2p":            nvlink(about(small-math.Log(2*24), within)), // for 24 layers: each reduces tensors four times, a stage sends twice
				"head":           about(2*small, within),
				"bubble":         about(-.3, .5), // 1F1B; interleaving by two or four has to be asked for
				"gradient":       nvlink(about(part, within)),
				"inter":          about(-small, orders),
				"power":          about(beyond, beyond),
				"share_power":    about(1, 3*beyond), // ranks of a node share its link
				"overlap":        about(0, uniform),
				"optimizer":      about(part, within),
				"offload":        about(math.Log(30), within), // memory and links of a host are 10 to 100 times slower
				"constant":       about(2*part, within),
				"fill":           about(math.Log(16)/2, math.Log(16)/2), // from one micro-batch in all to four per stage, of four stages
			},
			"slopes": {
				"gpu_type":    about(0, orders),
				"knob":        about(0, orders),          // operations grow with the square of a width
				"curvature":   about(0, 1/math.Sqrt(30)), // see knobs.go of package speed
				"third_order": about(0, 1/math.Sqrt(210)),
				"level":       about(0, .5), // words differ by a factor of e^½
				"links":       about(0, within),
				"tier":        about(math.Ln2, within), // half as fast
				"slowing":     about(0, within),        // as a gross error
				// Operations of a sample grow with the parameters and, of a
				// transformer, with the layers, the square of the hidden size and
				// the tokens; launches lower that, attention over long samples
				// raises it (Narayanan et al., SC'21, appendix).
				"model_parameters": about(1, within/2.),
				"layers":           about(1, within/2.),
				"hidden":           about(2, within/2.),
				"seq_len":          about(1, within/2.),
				"seq_len_links":    about(-1, within/2.), // messages stay the same
				"heads":            about(0, within/2.),
				"vocab":            about(0, within/2.),
				"experts":          about(0, within/2.),
			},
		},
		// The form is right within a twentieth over a factor of e, runs repeat
		// within a thirtieth; unknown knobs matter within a fifth, as do parts of a
		// layout of which one value was measured, for a factor of e. Networks gain a
		// tier with every ten times the workers, of which one in four is half as fast:
		// (ln 2)²/4 over ln 10, the square of .2, for a factor of e. Storage of all
		// workers limits one job in ten.
		Kernel: prior.Kernel{Process: .05, Length: 1, Knobs: .2, Layouts: .1, KnobLength: 2, Tiers: .2, Untried: .2, Noise: .03},
		// A step launches a thousand operations of ten microseconds, both within a
		// factor of ten.
		Launches: about(math.Log(1e3*1e-5), math.Sqrt2*math.Ln10),
		// Of routine data 1 to 10 % are gross errors (Hampel, Ronchetti,
		// Rousseeuw and Stahel, "Robust Statistics", 1986, section 1.2c).
		Scatter: within, Own: .5, Shared: .1, Disturbed: .05, Tail: 5,
	}
}
