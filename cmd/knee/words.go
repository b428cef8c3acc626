package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"knee/data"
	"knee/plots"
)

// number writes a figure with few digits.
func number(v float64) string { return plots.Plain(v) }

// figures returns how a format writes figures: in CSV exactly, else as [number]
// does.
func (f format) figures() func(float64) string {
	if f == "csv" {
		return exact
	}
	return number
}

// exact writes a figure with all its digits, for CSV.
func exact(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }

// seconds writes a duration as people say it: hours to the minute, days to
// the hour.
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
	case s >= 48*3600:
		h := math.Round(s / 3600)
		return fmt.Sprintf("%.0fd%.0fh", math.Floor(h/24), math.Mod(h, 24))
	case s >= 3600:
		return strings.TrimSuffix((time.Duration(math.Round(s/60)) * time.Minute).String(), "0s")
	}
	return time.Duration(math.Round(s) * float64(time.Second)).String()
}

// between writes an estimate with its 90 % interval, a shared unit once: 31.3 ms
// (27–37.7), $0.12 (0.08–0.21). A missing estimate is empty.
func between(e data.Estimate, f func(float64) string) string {
	if e == (data.Estimate{}) {
		return ""
	}
	mean, lo, hi := f(e.Mean), f(e.Lo), f(e.Hi)
	if _, unit, ok := strings.Cut(mean, " "); ok && strings.HasSuffix(lo, " "+unit) && strings.HasSuffix(hi, " "+unit) {
		lo, hi = strings.TrimSuffix(lo, " "+unit), strings.TrimSuffix(hi, " "+unit)
	}
	if strings.HasPrefix(mean, "$") && strings.HasPrefix(lo, "$") && strings.HasPrefix(hi, "$") {
		lo, hi = lo[1:], hi[1:]
	}
	return fmt.Sprintf("%s (%s–%s)", mean, lo, hi)
}

func dollars(v float64) string { return plots.Money(v) }

// percent writes a relative change with its sign.
func percent(ratio float64) string { return fmt.Sprintf("%+.0f %%", 100*ratio) }
