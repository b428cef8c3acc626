package profile

import (
	"slices"
	"strconv"
	"strings"

	"knee/data"
	"knee/profile/space"
)

// Recognise gives measurements made elsewhere the configurations of the study
// that they belong to. They may say more than the study does, such as the nodes
// or a knob that it does not vary. strangers counts those that belong to none, or
// to several: the search learns from them too, but they are no trials of a
// candidate.
func Recognise(s *data.Study, measured []data.Measurement) (out []data.Measurement, strangers int, err error) {
	candidates, err := space.Candidates(s)
	if err != nil {
		return nil, 0, err
	}
	out = slices.Clone(measured)
	for i := range out {
		m, found, matches := &out[i].Config, 0, 0
		for at := range candidates {
			if belongs(m, &candidates[at]) {
				found, matches = at, matches+1
			}
		}
		if matches != 1 {
			strangers++
			continue
		}
		size := m.Architecture
		*m = candidates[found]
		m.Architecture = m.Architecture.Or(size)
	}
	return out, strangers, nil
}

// belongs reports whether a measured configuration agrees with all that a
// candidate states.
func belongs(measured, c *data.Config) bool {
	if measured.Workers != c.Workers || measured.PS != c.PS || measured.LocalBatch != c.LocalBatch {
		return false
	}
	for name, v := range c.Extra {
		if !sameValue(measured.Extra[name], v) {
			return false
		}
	}
	if len(c.Placement) > 0 || c.Nodes > 0 {
		if measured.NodeCount() != c.NodeCount() || len(measured.Placement) > 0 && len(c.Placement) > 0 && measured.Placement.String() != c.Placement.String() {
			return false
		}
	}
	same := *measured // but for what the candidate leaves open, or was compared
	same.Extra, same.Placement, same.Nodes = c.Extra, c.Placement, c.Nodes
	if c.GPUType == "" {
		same.GPUType = ""
	}
	return same.Key() == c.Key()
}

// sameValue reports whether two texts are one value of a knob: equal but for the case,
// as True and true, or the same number.
func sameValue(a, b string) bool {
	x, xErr := strconv.ParseFloat(a, 64)
	y, yErr := strconv.ParseFloat(b, 64)
	return strings.EqualFold(a, b) || xErr == nil && yErr == nil && x == y
}
