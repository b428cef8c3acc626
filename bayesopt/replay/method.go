package replay

import (
	"slices"
	"strings"

	"knee/bayesopt"
	"knee/data"
)

// variants are the suffixes that turn knee into the pairs of surrogate and
// acquisition that a user may want to compare: knee-map, knee-lcb,
// knee-map-pi, …
func variants() map[string]func(*bayesopt.Options) {
	v := map[string]func(*bayesopt.Options){
		"map":    func(o *bayesopt.Options) { o.Hyper = "map" },
		"nocost": func(o *bayesopt.Options) { o.CostWeight = -1 },
	}
	for _, a := range bayesopt.Acquisitions() {
		v[a] = func(o *bayesopt.Options) { o.Acquisition = a }
	}
	return v
}

// Methods returns the names that [Table.NewMethod] accepts; each may be
// followed by -map, -nocost or - and an acquisition.
func Methods() []string { return bayesopt.Strategies() }

// NewMethod returns the strategy called name for one search of the table.
func (t *Table) NewMethod(name string, g Goal, seed int64) (bayesopt.Strategy, error) {
	o := t.Options(g, seed)
	base := name
	for !slices.Contains(Methods(), base) {
		at := strings.LastIndex(base, "-")
		if at < 0 {
			break
		}
		apply, ok := variants()[base[at+1:]]
		if !ok {
			break
		}
		apply(&o)
		base = base[:at]
	}
	if !slices.Contains(Methods(), base) {
		return nil, &data.UnknownError{What: "method", Name: name, Known: Methods(),
			Hint: ", which may be followed by -map, -nocost, -" + strings.Join(bayesopt.Acquisitions(), ", -")}
	}
	return bayesopt.NewStrategy(base, o)
}
