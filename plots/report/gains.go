package report

import (
	"path/filepath"

	"knee/allocate/plan"
	"knee/data"
	"knee/fit"
	"knee/plots"
	"knee/predict"
)

// reportGains adds what further workers would gain, one figure for every GPU
// type on which that is a question. It needs the cluster, the jobs and their
// models; where one is missing there is no such figure.
func (in *Inputs) reportGains(s *Section, p *data.Plan) {
	pr, ok := in.problemOf(p)
	if !ok {
		return
	}
	stairs, err := plan.Staircases(pr, p)
	if err != nil {
		s.Text = append(s.Text, "The gain of further workers could not be computed: "+err.Error())
		return
	}
	for _, t := range in.Cluster.GPUTypes() {
		choice := false
		for _, j := range stairs {
			choice = choice || j.GPUType == t && len(j.Steps) > 0
		}
		if choice {
			fig, err := plots.NewGains(plots.GainsOf(stairs, p, in.Cluster, t))
			s.figure(fig, err, "Filled: given. Hollow: what further workers would bring.")
		}
	}
}

// problemOf puts together what a plan was made from; false if something of it
// was not given.
func (in *Inputs) problemOf(p *data.Plan) (plan.Problem, bool) {
	pr := plan.Problem{Cluster: in.Cluster, Objective: p.Objective, Risk: in.Risk, Predictors: map[string]*predict.Predictor{}}
	if in.Cluster == nil {
		return pr, false
	}
	pr.FairSlots = in.Cluster.Slots()
	for _, planned := range p.Jobs {
		for _, j := range in.Jobs {
			if j.Name != planned.Name || pr.Predictors[j.Name] != nil {
				continue
			}
			m := in.modelOf(j)
			if m == nil {
				return pr, false
			}
			pr.Jobs = append(pr.Jobs, j)
			pr.Predictors[j.Name] = &predict.Predictor{Model: m, Accumulate: m.Batch().Adapt}
		}
	}
	return pr, len(pr.Jobs) == len(p.Jobs)
}

// modelOf is the model that the jobs file names for a job, else the one that was
// read of a job of that name; nil if there is none.
func (in *Inputs) modelOf(j data.Job) *fit.Model {
	path := j.Model
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(j.Source.File), path)
	}
	if m, err := fit.ReadModel(path); err == nil {
		return m
	}
	for _, m := range in.Models {
		if m.Job() == j.Name {
			return m
		}
	}
	return nil
}
