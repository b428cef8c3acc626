package plan

import (
	"math"
	"strconv"

	"github.com/dustin/go-humanize"
)

// rate formats a speed with three digits, thousands separators and no exponent,
// such as 10,800 or 0.0123.
func rate(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	places := 2 - math.Floor(math.Log10(math.Abs(v)))
	unit := math.Pow(10, -places)
	text := strconv.FormatFloat(math.Round(v/unit)*unit, 'f', min(max(0, int(places)), 12), 64)
	rounded, _ := strconv.ParseFloat(text, 64) // without the error of the product
	return humanize.Commaf(rounded)
}
