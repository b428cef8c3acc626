package place

import "knee/allocate"

// give sets what job i has.
func (p *placing) give(i int, at Placed) {
	p.tally.Add(i, p.use(i), -1)
	p.out[i] = at
	p.tally.Add(i, p.use(i), 1)
}

// use is what job i uses, nil if nothing.
func (p *placing) use(i int) *allocate.Use {
	if i == allocate.None || p.out[i].Choice == allocate.None {
		return nil
	}
	return &p.out[i].Option.Use
}

// permits reports whether quotas permit job i the use u and, if b is a job, job b
// another.
func (p *placing) permits(i int, u *allocate.Use, b int, other *allocate.Use) bool {
	p.tally.Add(i, p.use(i), -1)
	p.tally.Add(b, p.use(b), -1)
	first, second := p.tally.Add(i, u, 1), p.tally.Add(b, other, 1)
	p.tally.Add(b, other, -1)
	p.tally.Add(i, u, -1)
	p.tally.Add(b, p.use(b), 1)
	p.tally.Add(i, p.use(i), 1)
	return first < 0 && second < 0
}
