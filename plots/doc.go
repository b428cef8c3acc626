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
// The package takes results and computes nothing of the modelling: what it
// is given it draws, and what it cannot draw it refuses with an error that
// names the field, what was found and what was wanted. No input makes it
// panic, and drawing the same spec twice gives the same bytes in every
// format.
//
// All figures share one theme. Colours are the Okabe–Ito palette, which
// stays distinct under the common forms of colour blindness, and series
// differ in marker shape as well, so that a figure survives grey printing.
// Legends never cover data: a legend goes into the emptiest corner of the
// plot, and above the plot if every corner holds data.
package plots
