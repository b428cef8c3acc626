package fit

// leaveOneOut returns the mean and sd of ln step time of every measurement
// as predicted from all the others under a spread, with the form linearised
// around theta; see [fusion.leaveOneOut].
func (l *layout) leaveOneOut(f form, s spread, theta []float64) (mean, sd []float64, ok bool) {
	o, err := l.observe(s, 0)
	if err != nil {
		return nil, nil, false
	}
	z := l.linearize(f, theta)
	step, ok := z.stepBlock(o.step)
	if !ok {
		return nil, nil, false
	}
	compute := z.computeBlock(o.compute)
	u, ok := z.fuse(step, &compute)
	if !ok {
		return nil, nil, false
	}
	mean, sd = u.leaveOneOut()
	return mean, sd, true
}
