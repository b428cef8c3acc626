package bayesopt

import "math"

// PredictionErrors returns the errors of the predictions of ln step times of
// open candidates, in predicted standard deviations, and ln of these, with the
// widths of the record or unchanged ones; logTimes holds the times that exist.
func PredictionErrors(o Options, h History, logTimes map[int]float64, recorded bool) (errors, logSD []float64, err error) {
	if o, err = o.Validate(); err != nil {
		return nil, nil, err
	}
	p, err := NewProblem(o, h)
	if err != nil {
		return nil, nil, err
	}
	post, err := p.learn()
	if err != nil {
		return nil, nil, err
	}
	if post.width = 1; recorded {
		post.width = post.record.width(o.Constants.RecordTrust)
	}
	for _, i := range p.Open() {
		if v, ok := logTimes[i]; ok {
			mean, sd := p.belief(post, i).Moments()
			sd = math.Hypot(sd, post.width*post.NoiseSD())
			errors, logSD = append(errors, (v+p.offset[i]-mean)/sd), append(logSD, math.Log(sd))
		}
	}
	return errors, logSD, nil
}
