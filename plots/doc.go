// Package plots draws the figures of knee with gonum/plot: scaling curves with
// their knee, efficiency and cost, what-if, convergence, residuals, the progress of
// a search and what it predicts, allocations and what further workers would gain,
// simulated completion times and how full a cluster is.
//
// A New function checks what it draws, results of other packages or a struct of
// plain numbers (a spec), and returns a [Figure], which [Save] or [Render] writes:
//
//	fig, err := plots.NewScalability(plots.Scalability{…})
//	err = plots.Save("scaling.svg", fig)
//
// The package does no modelling. What cannot be drawn is an error that names the
// field, the value found and what was wanted; no input makes it panic. Drawing the
// same input twice gives the same bytes in every format.
//
// All figures share one theme: the Okabe–Ito palette, distinct under the common
// forms of colour blindness, a marker shape for each series, for printing in grey,
// and the legend above the data.
package plots
