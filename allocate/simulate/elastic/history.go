package elastic

import "knee/allocate/simulate/agent"

// History has the observations of jobs by application and GPU type, so that a job begins
// with those of earlier jobs of its application: most jobs of production clusters recur
// (Weng et al., NSDI 2022).
type History struct {
	Prior agent.Prior
	Alone bool // every job begins from nothing

	speeds map[[2]string]*agent.Speeds
	work   map[string]float64 // samples of the last job of an application that completed
}

// NewHistory returns an empty history, for models with the default prior.
func NewHistory() *History {
	return &History{Prior: agent.DefaultPrior(), speeds: map[[2]string]*agent.Speeds{}, work: map[string]float64{}}
}

// of are the observations of an application on a GPU type.
func (h *History) of(application, gpuType string) *agent.Speeds {
	key := [2]string{application, gpuType}
	if h.Alone || h.speeds[key] == nil {
		h.speeds[key] = &agent.Speeds{Prior: h.Prior}
	}
	return h.speeds[key]
}

// works is where completed jobs record their work, nil if every job is alone.
func (h *History) works() map[string]float64 {
	if h.Alone {
		return nil
	}
	return h.work
}
