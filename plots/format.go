package plots

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"knee/data"
)

// Number writes a value with three significant digits, four from 1000 on, and a
// unit prefix from 10,000 on: 0.042, 12.5, 3141, 61.2k.
func Number(v float64) string {
	unit, suffix := prefix(math.Abs(v))
	s := v / unit
	if a := math.Abs(s); a >= 1000 {
		return strconv.FormatFloat(s, 'f', 0, 64) + suffix
	}
	s, _ = strconv.ParseFloat(strconv.FormatFloat(s, 'g', 3, 64), 64)
	return strconv.FormatFloat(s, 'f', -1, 64) + suffix
}

// Duration writes seconds as people say them: hours to the minute, days to the hour.
func Duration(s float64) string {
	switch {
	case s <= 0 || math.IsNaN(s):
		return "0s"
	case s < 0.9995: // 0.9996 s is 1 s
		return Plain(s*1000) + " ms"
	case s < 60:
		return Plain(s) + " s"
	case s > 1e9:
		return "never"
	}
	unit := time.Second
	switch {
	case s >= 48*3600:
		unit = time.Hour
	case s >= 3600:
		unit = time.Minute
	}
	return data.FormatDuration(time.Duration(s * float64(time.Second)).Round(unit))
}

// Plain writes a value for a table or a sentence: a whole number below a million
// as it is, any other with three significant digits, four from a thousand on. It
// has a unit prefix from a million on, and an exponent below a ten-thousandth.
func Plain(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'g', -1, 64)
	case v == math.Trunc(v) && a < 1e6:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 1000 && a < 1e6:
		unit := math.Pow(10, math.Floor(math.Log10(a))-3) // of the fourth digit
		return Plain(math.Round(v/unit) * unit)
	case a >= 1e6 || a < 1e-4:
		return Number(v)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Money writes US dollars: with cents, without them from a thousand on, and with
// four decimals below a cent. Less than $0.0001 is <$0.0001.
func Money(v float64) string {
	decimals := 2
	switch {
	case v < 0:
		return "-" + Money(-v)
	case v >= 1e9:
		return "$" + Number(v)
	case v >= 999.995:
		return "$" + humanize.Comma(int64(math.RoundToEven(v)))
	case v > 0 && v < 0.0001:
		return "<$0.0001"
	case v > 0 && v < 0.01:
		decimals = 4
	case v > 0 && v < 0.1:
		decimals = 3
	}
	return "$" + strconv.FormatFloat(v, 'f', decimals, 64)
}

// Interval writes an estimate with its 90 % interval, if it has one, a shared unit
// once: 31.3 ms (27–37.7), $0.12 (0.08–0.21). A missing estimate is empty.
func Interval(e data.Estimate, f func(float64) string) string {
	if e == (data.Estimate{}) {
		return ""
	}
	mean, lo, hi := f(e.Mean), f(e.Lo), f(e.Hi)
	if math.IsNaN(e.Lo) || e.Hi <= e.Lo {
		return mean
	}
	if _, unit, ok := strings.Cut(mean, " "); ok && strings.HasSuffix(lo, " "+unit) && strings.HasSuffix(hi, " "+unit) {
		lo, hi = strings.TrimSuffix(lo, " "+unit), strings.TrimSuffix(hi, " "+unit)
	}
	if strings.HasPrefix(mean, "$") && strings.HasPrefix(lo, "$") && strings.HasPrefix(hi, "$") {
		lo, hi = lo[1:], hi[1:]
	}
	return fmt.Sprintf("%s (%s–%s)", mean, lo, hi)
}

// Nodes writes shares of nodes: n1:4 n2:2+1ps.
func Nodes(shares []data.NodeShare) string {
	var parts []string
	for _, s := range shares {
		text := fmt.Sprintf("%s:%d", s.Node, s.Workers)
		if s.PS > 0 {
			text += fmt.Sprintf("+%dps", s.PS)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}
