package bayesopt

import (
	"slices"
	"testing"

	"knee/data"
)

// Of a large table the candidates are screened by a few members; the best by all
// of them is kept.
func TestScreen(t *testing.T) {
	h := History{Candidates: wide(3000)}
	for k := range 12 {
		h.Measured = append(h.Measured, measure(h.Candidates[k*250]))
	}
	h.Measured[3].Status = data.Failed
	p := mustProblem(t, Options{Objective: Throughput}, h)
	post, err := p.learn()
	if err != nil {
		t.Fatal(err)
	}
	best, open := p.incumbent(post), p.Open()
	kept := p.screen(post, best, open)
	if len(open)*len(post.members) <= screenAbove || len(kept) != screenKeep {
		t.Fatalf("%d of %d candidates are kept with %d members, want %d of more than %d predictions",
			len(kept), len(open), len(post.members), screenKeep, screenAbove)
	}
	top := slices.MaxFunc(p.verdicts(post, best, open), p.prefer)
	if c := p.choose(post, best); c.pick != top.candidate || !slices.Contains(kept, top.candidate) {
		t.Errorf("candidate %d is chosen, want %d, the best of all", c.pick, top.candidate)
	}
}
