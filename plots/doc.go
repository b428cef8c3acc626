// Package plots draws the figures of knee with gonum/plot: scaling curves
// with their knee, speed against workers and parameter servers, convergence,
// the progress of a search and what it predicts, allocations and what further
// workers would gain, simulated completion times and how full a cluster is.
//
// A figure is described by a small struct of plain numbers (a spec), checked
// and turned into a [Figure] by its New function, and written with [Save] or
// [Render]:
//
//	fig, err := plots.NewScalability(plots.Scalability{…})
//	err = plots.Save("scaling.svg", fig)
//
// The package draws results and does no modelling. A spec that cannot be drawn is
// an error that names the field, the value found and what was wanted. No input
// makes it panic, and drawing the same spec twice gives the same bytes in every
// format.
//
// All figures share one theme. Colours are the Okabe–Ito palette, distinct under
// the common forms of colour blindness. Series also differ in marker shape, for
// printing in grey. Legends never cover data: a legend is in the emptiest corner of
// the plot, or above the plot if every corner has data.
package plots
