package compare

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"knee/allocate/simulate"
	"knee/allocate/simulate/measured"
	"knee/data"
	"knee/fit/interference"
	"knee/internal/bench"
)

// philly is a cluster of about the size of the trace: 550 nodes, 2,492 GPUs.
func philly() *data.Cluster {
	c := &data.Cluster{}
	for i := range 550 {
		n := data.Node{Name: fmt.Sprintf("n%03d", i), GPUType: "p100", GPUs: 2}
		if i < 232 {
			n.GPUs = 8
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// BenchmarkPhilly replays the 82,247 jobs of the Philly trace.
func BenchmarkPhilly(b *testing.B) {
	jobs, _, err := data.LoadTable(filepath.Join(bench.Dir(b), "workloads", "philly-jobs.csv"), simulate.ReadWorkload)
	if err != nil {
		b.Skip(err)
	}
	for _, policy := range []string{"srtf", "tiresias-las"} {
		b.Run(policy, func(b *testing.B) {
			for b.Loop() {
				s := Settings{Cases: []Case{{Name: "philly", Jobs: jobs, Cluster: philly()}}, Policies: []string{policy}}
				if _, err := Run(b.Context(), s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPacked replays published workloads with made-up pairs: every
// application uses a share of the GPU between 0.3 and 1, and waits for what the
// other holds of it. Half of the pairs are known. It prints mean completion times
// without packing, with known pairs alone, with the others predicted, and with
// all of them known.
func BenchmarkPacked(b *testing.B) {
	dir := bench.Dir(b)
	profiles, err := measured.Load(dir)
	if err != nil {
		b.Skip(err)
	}
	c := &data.Cluster{}
	for i := range 16 {
		c.Nodes = append(c.Nodes, data.Node{Name: fmt.Sprintf("n%d", i), GPUType: "t4", GPUs: 4})
	}
	for b.Loop() {
		for _, name := range []string{"workload-1", "workload-2", "workload-6"} {
			jobs, _, err := data.LoadTable(filepath.Join(dir, "workloads", "pollux", name+".csv"), simulate.ReadWorkload)
			if err != nil {
				b.Skip(err)
			}
			for seed := range int64(2) {
				known, rest := madeUpPairs(jobs, seed)
				all := append(known[:len(known):len(known)], rest...)
				alone := rest[:0:0]
				for _, r := range rest {
					r.Share = 0
					alone = append(alone, r)
				}
				line := fmt.Sprintf("%s, pairs %d:", name, seed)
				for _, x := range []struct {
					what  string
					pairs *simulate.Pairs
				}{{"none", nil}, {"known", simulate.NewPairs(append(known[:len(known):len(known)], alone...), all, 1)},
					{"predicted", simulate.NewPairs(known, all, 1)}, {"all", simulate.NewPairs(all, nil, 1)}} {
					rows, err := Run(b.Context(), Settings{Cases: []Case{{Name: name, Jobs: jobs, Cluster: c}}, Policies: []string{"gandiva", "gavel-maxmin"}, Profiles: profiles, Rules: simulate.Rules{Packed: x.pairs}})
					if err != nil {
						b.Fatal(err)
					}
					line += fmt.Sprintf(" %s %.0f %.0f", x.what, rows[0].JCTMean, rows[1].JCTMean)
				}
				b.Log(line)
			}
		}
	}
}

// madeUpPairs are the pairs of the applications of a workload, half of them
// known.
func madeUpPairs(jobs []simulate.Job, seed int64) (known, rest []interference.Row) {
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	use := map[string]float64{}
	var names []string
	for _, j := range jobs {
		if _, drawn := use[j.Application]; !drawn {
			use[j.Application] = .3 + .7*rng.Float64()
			names = append(names, j.Application)
		}
	}
	for i, x := range names {
		for _, y := range names[:i+1] {
			rows := []interference.Row{{Job: x, Beside: y, GPUType: "t4", Share: 1 / (1 + use[x]*use[y])}}
			if x != y {
				rows = append(rows, interference.Row{Job: y, Beside: x, GPUType: "t4", Share: rows[0].Share})
			}
			if rng.Float64() < .5 {
				known = append(known, rows...)
			} else {
				rest = append(rest, rows...)
			}
		}
	}
	return known, rest
}
