package profile

import (
	"slices"

	"knee/data"
	"knee/profile/space"
)

// Recognise returns measurements made elsewhere with the configurations of the
// study that they are of, and the number of those that are of none, which inform
// the search but count as trials of no candidate. A file may say more than the
// study (nodes where that leaves placements open, a knob that is not varied), and
// give nodes where the study has a placement.
func Recognise(s *data.Study, measured []data.Measurement) (out []data.Measurement, strangers int, err error) {
	candidates, err := space.Candidates(s)
	if err != nil {
		return nil, 0, err
	}
	known := make(map[string]bool, len(candidates))
	for _, c := range candidates {
		known[c.Key()] = true
	}
	out = slices.Clone(measured)
	for i := range out {
		if known[out[i].Key()] {
			continue
		}
		at := slices.IndexFunc(candidates, func(c data.Config) bool { return says(out[i].Config, c) })
		if at < 0 || slices.ContainsFunc(candidates[at+1:], func(c data.Config) bool { return says(out[i].Config, c) }) {
			strangers++ // or of several
			continue
		}
		out[i].Config = candidates[at]
	}
	return out, strangers, nil
}

// says reports whether a measured configuration agrees with all that a candidate
// states.
func says(measured, c data.Config) bool {
	if measured.Workers != c.Workers || measured.PS != c.PS || measured.LocalBatch != c.LocalBatch {
		return false
	}
	for name, v := range c.Extra {
		if measured.Extra[name] != v {
			return false
		}
	}
	if len(c.Placement) > 0 || c.Nodes > 0 {
		if measured.NodeCount() != c.NodeCount() || len(measured.Placement) > 0 && len(c.Placement) > 0 && measured.Placement.String() != c.Placement.String() {
			return false
		}
	}
	measured.Extra, measured.Placement, measured.Nodes, measured.Architecture = c.Extra, c.Placement, c.Nodes, c.Architecture
	if c.GPUType == "" {
		measured.GPUType = ""
	}
	return measured.Key() == c.Key()
}
