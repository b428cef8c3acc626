package replay

import (
	"math"
	"math/rand/v2"
	"testing"

	"knee/bayesopt"
	"knee/data"
	"knee/fit/memory"
	"knee/profile"
)

// BenchmarkTargetBound reports why the choice for 256 GPUs is not the best, over
// b.N synthetic spaces: mean throughput ÷ best, and the share of choices within
// 5 %, after eight trials on at most 32 GPUs (guided, random), after a trial of
// every row there (all), and with every step time known but for its noise of
// three per cent (noise):
//
//	go test ./bayesopt/replay -run '^$' -bench TargetBound -benchtime 48x
func BenchmarkTargetBound(b *testing.B) {
	const at, most = 256, 32
	mean, within5 := map[string]float64{}, map[string]float64{}
	for k := range b.N {
		seed := int64(3000 + k) // seeds not used for tuning
		t := NewLayout(seed, at, most, most/2, most/4)
		t.Forms, t.Memory = profile.LayoutForms(t.Architecture), memory.Feasibility{Architecture: t.Architecture}.Fits
		t.Model = profile.SpeedModel(t.Architecture, 1)
		r := Reach{At: at, Measure: most, Budget: 8}
		shares := map[string]float64{"noise": t.share(t.noiseFree(seed, at), at)}
		for _, method := range []string{"guided", "random"} {
			var err error
			if shares[method], err = t.Reach(method, r, 1); err != nil {
				b.Fatal(err)
			}
		}
		h := bayesopt.History{Candidates: t.Candidates}
		for i, c := range t.Candidates {
			if c.Workers <= most {
				m := t.measurement(i, Goal{Time: true}, 1, 1)
				m.Architecture = t.Architecture
				h.Measured = append(h.Measured, m)
			}
		}
		all, err := bayesopt.NewGuided(bayesopt.Options{Seed: 1, Forms: t.Forms, Memory: t.Memory, Model: t.Model, Target: &bayesopt.Target{
			At: func(c data.Config) bool { return c.Workers == at }, Measure: func(c data.Config) bool { return c.Workers <= most }}})
		if err != nil {
			b.Fatal(err)
		}
		last, err := all.Next(h)
		if err != nil {
			b.Fatal(err)
		}
		shares["all"] = t.share(last.Choice, at)
		for name, share := range shares {
			mean[name] += share / float64(b.N)
			if share >= 0.95 {
				within5[name] += 100 / float64(b.N)
			}
		}
	}
	for name := range mean {
		b.ReportMetric(mean[name], name)
		b.ReportMetric(within5[name], "%within-5%-"+name)
	}
}

// noiseFree returns the fastest plan at a size by its time without noise.
func (t *Table) noiseFree(seed int64, at int) (best data.Config) {
	m, least := newTransformer(rand.New(rand.NewPCG(uint64(seed), 0x6c61796f7574))), math.Inf(1)
	for i, c := range t.Candidates {
		if c.Workers != at || t.Outcomes[i].Status != data.OK {
			continue
		}
		if s := m.stepTime(c); s < least {
			best, least = c, s
		}
	}
	return best
}
