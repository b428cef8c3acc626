package predict

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"knee/data"
)

// Condition is a threshold on one figure of a [Summary], such as mape>10.
type Condition struct {
	Metric string  // mape, median, p90, coverage or half_width
	Op     string  // <, >, <= or >=
	Limit  float64 // percent
}

// conditionWant is what a condition looks like, for errors.
const conditionWant = "METRIC then <, >, <= or >= then a percentage, such as mape>10, of the metrics mape, median, p90, coverage, half_width"

// ParseCondition reads a condition as String writes it; blanks and a
// percent sign at the end do not matter. It fails with a *data.InputError.
func ParseCondition(text string) (Condition, error) {
	wrong := &data.InputError{Source: data.Source{Column: "condition"}, Found: strconv.Quote(text), Want: conditionWant}
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return Condition{}, wrong
	}
	c := Condition{Metric: strings.TrimSpace(text[:at]), Op: text[at : at+1]}
	rest := text[at+1:]
	if after, or := strings.CutPrefix(rest, "="); or {
		c.Op, rest = c.Op+"=", after
	}
	var err error
	c.Limit, err = strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "%")), 64)
	if _, known := c.of(Summary{}); err != nil || !known || math.IsNaN(c.Limit) || math.IsInf(c.Limit, 0) {
		return Condition{}, wrong
	}
	return c, nil
}

// String returns the condition as ParseCondition reads it.
func (c Condition) String() string {
	return c.Metric + c.Op + strconv.FormatFloat(c.Limit, 'g', -1, 64)
}

// of returns the figure of a summary that the condition is about.
func (c Condition) of(s Summary) (v float64, known bool) {
	switch c.Metric {
	case "mape":
		return s.MAPE, true
	case "median":
		return s.Median, true
	case "p90":
		return s.P90, true
	case "coverage":
		return s.Coverage, true
	case "half_width":
		return s.HalfWidth, true
	}
	return 0, false
}

// Crossed says whether a summary meets the condition, and how in words:
// "mape is 12.3 %, over the threshold mape>10".
func (c Condition) Crossed(s Summary) (crossed bool, words string) {
	v, _ := c.of(s)
	switch c.Op {
	case "<":
		crossed = v < c.Limit
	case "<=":
		crossed = v <= c.Limit
	case ">":
		crossed = v > c.Limit
	case ">=":
		crossed = v >= c.Limit
	}
	if !crossed {
		return false, ""
	}
	return true, fmt.Sprintf("family %s: %s is %.3g %%, which crosses %s", s.Family, c.Metric, v, c)
}
