package policy

import "knee/allocate"

// packs are jobs on the GPUs of others, for policies that share space.
type packs struct {
	beside func(job, beside, gpuType string, workers int) float64
	guests map[int][2]int // of the last answer
}

// Beside tells the policy how fast a job is beside another on the GPUs of one,
// relative to alone, as measured or expected.
func (p *packs) Beside(share func(job, beside, gpuType string, workers int) float64) {
	p.beside = share
}

// Guests are the jobs that the last answer gives no GPUs of their own, by place
// in the state: who else's they run on, and which of their options that is.
func (p *packs) Guests() map[int][2]int { return p.guests }

// together are the speeds of two jobs beside each other, relative to alone; 0 if
// they are not of one size.
func (p *packs) together(a, b *allocate.JobState, gpuType string) (ofA, ofB float64) {
	if p.beside == nil || size(a) != size(b) {
		return 0, 0
	}
	n := int(size(a))
	return p.beside(a.Name, b.Name, gpuType, n), p.beside(b.Name, a.Name, gpuType, n)
}
