package plots

import (
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// Number writes a value as the figures do: three digits with a unit prefix,
// such as 12.3k.
func Number(v float64) string { return number(v) }

// Duration writes seconds in the unit that keeps them short, as the figures
// do.
func Duration(s float64) string { return duration(s) }

// Plain writes a value for a table or a sentence: a whole number below a
// million as it is, any other with three digits, or four from a thousand on.
// From a million on it has a unit prefix, and only what is below a
// ten-thousandth an exponent.
func Plain(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'g', -1, 64)
	case v == math.Trunc(v) && a < 1e6:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 1000 && a < 1e6:
		return Plain(math.Round(v/unitOf(a)) * unitOf(a))
	case a >= 1e6 || a < 1e-4:
		return number(v)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// unitOf is the place of the fourth digit of a value from a thousand on.
func unitOf(a float64) float64 { return math.Pow(10, math.Floor(math.Log10(a))-3) }

// Money writes US dollars: in cents, from a thousand on without, and with
// four decimals what is less than a cent. Less than that is said to be less.
func Money(v float64) string {
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	switch {
	case v > 0 && v < 0.0001:
		return sign + "<$0.0001"
	case v > 0 && v < 0.01:
		return sign + "$" + strconv.FormatFloat(v, 'f', 4, 64)
	case v < 999.995:
		return sign + "$" + strconv.FormatFloat(v, 'f', 2, 64)
	case v >= 1e9:
		return sign + "$" + number(v)
	}
	return sign + "$" + humanize.Comma(int64(math.RoundToEven(v)))
}

// counted writes a number of things.
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// joinWords joins words as in "a, b or c".
func joinWords(words []string, with string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + with + " " + words[last]
}
