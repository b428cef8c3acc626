package pollux

import (
	"slices"

	"knee/allocate/policy"
	"knee/data"
)

// schedulers are those of the publication, as published; the other policies
// are shown option tables.
func schedulers() map[string]func(Settings) scheduler {
	return map[string]func(Settings) scheduler{
		"tiresias": func(Settings) scheduler { return &tiresias{} },
		// Elsewhere that policy is called by what it goes by.
		"tiresias-las": func(Settings) scheduler { return &tiresias{} },
		"optimus":      func(Settings) scheduler { return &optimus{cache: map[predictKey]float64{}} },
		"pollux":       func(s Settings) scheduler { return newGenetic(s.Seed) },
	}
}

// Policies lists the names [Settings] takes as a policy.
func Policies() []string {
	names := policy.Names()
	for n := range schedulers() {
		names = append(names, n)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func newScheduler(s Settings) (scheduler, error) {
	if mk, ok := schedulers()[s.Policy]; ok {
		return mk(s), nil
	}
	p, err := policy.New(s.Policy)
	if err != nil {
		return nil, &data.UnknownError{What: "policy", Name: s.Policy, Known: Policies()}
	}
	if s.Knee != nil && s.Policy == "knee" {
		p = *s.Knee
	}
	return newAdapted(s, p)
}
