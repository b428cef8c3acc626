package main

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"knee/data"
)

// number writes a figure with as many digits as a reader can use.
func number(v float64) string {
	switch a := math.Abs(v); {
	case v == 0:
		return "0"
	case a >= 1e6 || a < 1e-4:
		return strconv.FormatFloat(v, 'g', 4, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

// exact writes a figure for machines.
func exact(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }

// seconds writes a duration as people say it.
func seconds(s float64) string {
	switch {
	case s <= 0 || math.IsNaN(s):
		return "0s"
	case s < 1:
		return number(s*1000) + " ms"
	case s < 60:
		return number(s) + " s"
	case math.IsInf(s, 0) || s > 1e9:
		return "never"
	}
	return time.Duration(math.Round(s) * float64(time.Second)).String()
}

// between writes an estimate with its 90 % interval.
func between(e data.Estimate, f func(float64) string) string {
	return fmt.Sprintf("%s (%s–%s)", f(e.Mean), f(e.Lo), f(e.Hi))
}

// errorf is fmt.Errorf, for errors of the command line.
func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// dollars writes money in cents, and what is less than a cent in figures that
// still tell two amounts apart.
func dollars(v float64) string {
	if v > 0 && v < 0.01 {
		return "$" + number(v)
	}
	return fmt.Sprintf("$%.2f", v)
}

// percent writes a relative change with its sign.
func percent(ratio float64) string { return fmt.Sprintf("%+.0f %%", 100*ratio) }
