// Package report puts a whole study on one page: a single HTML file that
// needs nothing else, with the conclusions in words first, then figures and
// tables, what to be careful about, and where everything came from.
//
// The inputs are the files the commands write: measurements, training curves,
// models, plans, clusters, results of simulations. [Read] tells them apart by
// what they hold; [Inputs.Report] joins those of one job into a section and
// draws what there is to draw; [Write] writes the page.
//
// The page holds inline SVG whose colours follow the reader's light or dark
// setting, a style sheet and a short script for the values under the pointer
// and for sorting tables. Whatever a user may have named (jobs, nodes, GPU
// types) is text on it and nothing else. The same inputs give the same bytes.
package report
