package bayesopt

import (
	"fmt"
	"math"
	"strings"
)

// reason returns one sentence on a suggestion with its numbers, such as "4 ×
// a100, allreduce, batch 256: expected throughput +12 % over the best so far
// (−3 % to +30 %), costs $0.80".
func (p *Problem) reason(i int, belief Predictive, why string, s Suggestion) string {
	var parts []string
	if why != "" {
		parts = append(parts, why)
	}
	switch {
	case len(belief.Mean) == 0:
	case p.Options.Objective == Accuracy:
		_, sd := belief.Moments()
		known := fmt.Sprintf("±%.0f %%", 100*math.Expm1(1.645*sd))
		if factor := math.Exp(1.645 * sd); factor > 2 {
			known = fmt.Sprintf("a factor of %.2g", factor)
		}
		parts = append(parts, fmt.Sprintf("step time expected %.4g s, known to %s", s.Expected.Mean, known))
	case p.bestIndex >= 0:
		base, relation := p.Options.Objective.natural(p.best), "against"
		if p.Options.Objective.Maximised() {
			relation = "over"
		}
		parts = append(parts, fmt.Sprintf("expected %s %s %s the best so far (%s to %s)", strings.ReplaceAll(string(p.Options.Objective), "_", " "),
			percent(s.Expected.Mean/base), relation, percent(s.Expected.Lo/base), percent(s.Expected.Hi/base)))
	}
	if s.Cost > 0 {
		parts = append(parts, "costs "+dollars(s.Cost))
	} else {
		parts = append(parts, fmt.Sprintf("uses %d workers", p.cands[i].Workers))
	}
	return p.cands[i].String() + ": " + strings.Join(parts, ", ")
}

// percent formats a ratio as a signed change.
func percent(ratio float64) string {
	change := math.Round(100 * (ratio - 1))
	switch {
	case change == 0:
		return "±0 %" // −0 would print a sign
	case change < 0:
		return fmt.Sprintf("−%.0f %%", -change)
	case change > 1000:
		return fmt.Sprintf("×%.3g", ratio)
	}
	return fmt.Sprintf("+%.0f %%", change)
}

// dollars formats US$, with four decimals below a cent.
func dollars(v float64) string {
	switch {
	case v > 0 && v < 0.0001:
		return "<$0.0001"
	case v > 0 && v < 0.01:
		return fmt.Sprintf("$%.4f", v)
	}
	return fmt.Sprintf("$%.2f", v)
}
