package elastic

import "knee/allocate/simulate/agent"

// History has the observations of jobs by application and GPU type, so that a job begins
// with those of earlier jobs of its application: most jobs of production clusters recur
// (Weng et al., NSDI 2022). It begins empty.
type History struct {
	Alone bool // every job begins from nothing

	speeds map[[2]string]*agent.Speeds
	work   map[string]float64 // samples of the last job of an application that completed
}

// of are the observations of an application on a GPU type.
func (h *History) of(application, gpuType string) *agent.Speeds {
	key := [2]string{application, gpuType}
	if h.speeds == nil {
		h.speeds, h.work = map[[2]string]*agent.Speeds{}, map[string]float64{}
	}
	if h.Alone || h.speeds[key] == nil {
		h.speeds[key] = &agent.Speeds{}
	}
	return h.speeds[key]
}
