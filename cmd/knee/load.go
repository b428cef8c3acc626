package main

import (
	"strings"

	"knee/data"
)

// rows loads the measurements of several files, of one job or, without a name,
// of all.
func (a *app) rows(how data.Import, job string, files ...string) ([]data.Measurement, error) {
	var ms []data.Measurement
	for _, file := range files {
		more, warnings, err := how.Load(file)
		if err != nil {
			return nil, err
		}
		a.warn(warnings...)
		for _, m := range more {
			if job == "" || m.Job == job {
				ms = append(ms, m)
			}
		}
	}
	if len(ms) == 0 && job != "" {
		return nil, &data.InputError{Source: data.Source{File: strings.Join(files, ", ")}, Found: "no measurement of " + job, Want: "at least one"}
	}
	return ms, nil
}

// curves loads training curves, none without a file.
func (a *app) curves(file string) ([]data.CurvePoint, error) {
	if file == "" {
		return nil, nil
	}
	points, warnings, err := data.LoadCurve(file)
	a.warn(warnings...)
	return points, err
}
