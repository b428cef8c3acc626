// Package report writes a study as one self-contained HTML page: conclusions
// first, then figures and tables, warnings, and the sources of the data.
//
// The inputs are the files that commands write: measurements, training curves,
// models, plans, clusters, results of simulations. [Read] recognises them by
// content; [Inputs.Report] makes a section of the inputs of each job, with figures;
// [Write] writes the page.
//
// The page has inline SVG in the reader's light or dark colours, a style sheet, and
// a short script for tooltips and for sorting tables. Names given by users (jobs,
// nodes, GPU types) are escaped. The same inputs give the same bytes.
package report
