package plan

import (
	"strconv"

	"github.com/dustin/go-humanize"
)

// rate formats a speed with three digits, thousands separators and no exponent,
// such as 10,800 or 0.0123.
func rate(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return humanize.Commaf(rounded)
}
