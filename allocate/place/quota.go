package place

import "knee/allocate"

// quota names the quota of a tenant.
type quota struct{ tenant, gpuType string }

// give sets what job i has.
func (p *placing) give(i int, at Placed) {
	p.count(i, p.use(i), -1)
	p.out[i] = at
	p.count(i, p.use(i), 1)
}

// use is what job i uses, nil if nothing.
func (p *placing) use(i int) *allocate.Use {
	if i == allocate.None || p.out[i].Choice == allocate.None {
		return nil
	}
	return &p.out[i].Option.Use
}

// count adds sign times the use u of job i to its quotas, and reports whether these
// permit it.
func (p *placing) count(i int, u *allocate.Use, sign int) bool {
	within := true
	if p.used == nil || u == nil {
		return within
	}
	for _, tenant := range p.state.QuotasOf(&p.state.Jobs[i], u.GPUType) {
		of := quota{tenant, u.GPUType}
		p.used[of] += sign * u.GPUs
		within = within && p.used[of] <= p.state.Tenants[tenant].Quota[u.GPUType]
	}
	return within
}

// permits reports whether quotas permit job i the use u and, if b is a job, job b
// another.
func (p *placing) permits(i int, u *allocate.Use, b int, other *allocate.Use) bool {
	p.count(i, p.use(i), -1)
	p.count(b, p.use(b), -1)
	first, second := p.count(i, u, 1), p.count(b, other, 1)
	p.count(b, other, -1)
	p.count(i, u, -1)
	p.count(b, p.use(b), 1)
	p.count(i, p.use(i), 1)
	return first && second
}
