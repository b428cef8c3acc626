package allocate

// QuotasOf returns the tenants, from the one of a job up to the root, that
// limit the worker slots of a GPU type.
func (s *State) QuotasOf(j *JobState, gpuType string) []string {
	var out []string
	name := j.History.Tenant
	for range s.Tenants {
		t, known := s.Tenants[name]
		if !known {
			break
		}
		if _, limited := t.Quota[gpuType]; limited {
			out = append(out, name)
		}
		name = t.Parent
	}
	return out
}

// HasQuotas reports whether any tenant has a quota.
func (s *State) HasQuotas() bool {
	for _, t := range s.Tenants {
		if len(t.Quota) > 0 {
			return true
		}
	}
	return false
}

// Quotas counts the worker slots that jobs use of the quotas of their tenants.
type Quotas struct {
	state *State
	used  map[quota]int // nil: there are no quotas
}

type quota struct{ tenant, gpuType string }

// Quotas starts without use.
func (s *State) Quotas() *Quotas {
	q := &Quotas{state: s}
	if s.HasQuotas() {
		q.used = map[quota]int{}
	}
	return q
}

// Add adds sign times the use u of job i, nil for nothing, and returns the first of its
// tenants whose quota is exceeded then, empty if none.
func (q *Quotas) Add(i int, u *Use, sign int) (exceeded string) {
	if q.used == nil || u == nil {
		return ""
	}
	for _, tenant := range q.state.QuotasOf(&q.state.Jobs[i], u.GPUType) {
		of := quota{tenant, u.GPUType}
		if q.used[of] += sign * u.GPUs; exceeded == "" && q.used[of] > q.state.Tenants[tenant].Quota[u.GPUType] {
			exceeded = tenant
		}
	}
	return exceeded
}
