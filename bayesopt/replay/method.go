package replay

import (
	"knee/bayesopt"
	"knee/bayesopt/baseline"
)

// NewMethod returns the strategy called name, one of [baseline.Strategies],
// for one search of the table.
func (t *Table) NewMethod(name string, g Goal, seed int64) (bayesopt.Strategy, error) {
	return baseline.NewStrategy(name, t.Options(g, seed))
}
