package compare

import (
	"math"
	"slices"

	"knee/allocate/simulate"
	"knee/data"
	"knee/internal/quantile"
)

// fairness fills in how each job fared against an equal share.
func (s *Settings) fairness(c Case, row *Row) error {
	alone := s.gangAlone(c)
	if s.measured(c) {
		alone = s.measuredAlone(c)
	}
	ftf, err := simulate.Fairness(row.Outcomes, c.Cluster.Slots(), alone)
	if err != nil {
		return err
	}
	slices.Sort(ftf)
	for _, f := range ftf {
		row.FTFMean += f / float64(len(ftf))
	}
	row.FTFP99 = quantile.Sorted(ftf, 0.99)
	return nil
}

// gangAlone is for jobs that are known by their duration on the GPUs they
// ask for: with fewer, time is shared.
// Of several GPU types with measured speeds it has the first of the cluster.
func (s *Settings) gangAlone(c Case) simulate.Alone {
	rates := s.rates(c)
	return func(i, gpus int) (float64, error) {
		j := c.Jobs[i]
		t := j.Work * math.Max(1, float64(max(1, j.Workers))/float64(gpus))
		if rates == nil {
			return t, nil
		}
		offer, err := rates.Options(j, simulate.RigidOptions(j, c.Cluster))
		if err != nil || len(offer) == 0 {
			return 0, err
		}
		return t / offer[0].Answer.Goodput.Mean, nil
	}
}

// measuredAlone asks the measured tables, on the first GPU type of the
// cluster that the application was measured on, packed on few nodes.
func (s *Settings) measuredAlone(c Case) simulate.Alone {
	type key struct {
		app  string
		gpus int
	}
	known := map[key]float64{}
	return func(i, gpus int) (float64, error) {
		app, err := s.Profiles.App(c.Jobs[i].Application)
		if err != nil {
			return 0, err
		}
		for _, gpuType := range c.Cluster.GPUTypes() {
			t := app.Tables[gpuType]
			if t == nil {
				continue
			}
			k := key{app.Name, min(gpus, t.MaxWorkers, int(app.Max/t.LocalMin))}
			if v, ok := known[k]; ok {
				return v, nil
			}
			v, err := app.Alone(t, packedOn(c.Cluster, gpuType, k.gpus))
			known[k] = v
			return v, err
		}
		return 0, nil
	}
}

// packedOn fills the widest nodes of a type first.
func packedOn(c *data.Cluster, gpuType string, workers int) data.Placement {
	var room []int
	for _, n := range c.Nodes {
		if n.GPUType == gpuType && !n.Drained && n.GPUs > 0 {
			room = append(room, n.GPUs)
		}
	}
	slices.SortFunc(room, func(a, b int) int { return b - a })
	var p data.Placement
	for _, g := range room {
		if workers == 0 {
			break
		}
		p = append(p, min(g, workers))
		workers -= min(g, workers)
	}
	return p
}
