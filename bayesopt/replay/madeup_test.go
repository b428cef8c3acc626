package replay

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"knee/data"
)

// physics is a random job: the time and status of a configuration.
type physics func(c data.Config) (seconds float64, s data.Status)

// space returns all combinations of values of knobs.
func space(knobs map[string][]string, order ...string) []data.Config {
	all := []data.Config{{Mode: data.AllReduce, Workers: 1}}
	for _, name := range order {
		var next []data.Config
		for _, c := range all {
			for _, v := range knobs[name] {
				d := c
				d.Extra = map[string]string{}
				for k, w := range c.Extra {
					d.Extra[k] = w
				}
				switch n, _ := strconv.Atoi(v); name {
				case "workers":
					d.Workers = n
				case "local_batch":
					d.LocalBatch = float64(n)
				case "gpu_type":
					d.GPUType = v
				default:
					d.Extra[name] = v
				}
				next = append(next, d)
			}
		}
		all = next
	}
	return all
}

func knobOf(c data.Config, name string) float64 {
	v, _ := strconv.ParseFloat(c.Extra[name], 64)
	return v
}

// madeUp returns a table of a job. Times have noise of two per cent.
func madeUp(kind string, seed int64) *Table {
	rng := rand.New(rand.NewPCG(uint64(seed), 0x6d616465))
	cands, price, job := kinds()[kind](rng)
	t := &Table{Name: fmt.Sprintf("%s-%d", kind, seed), Kind: kind, Candidates: cands}
	for _, c := range cands {
		seconds, status := job(c)
		seconds *= math.Exp(0.02 * rng.NormFloat64())
		t.Outcomes = append(t.Outcomes, Outcome{Status: status, Time: seconds, Hourly: price(c), Cost: seconds * price(c) / 3600})
	}
	return t
}

// between draws log-uniformly.
func between(rng *rand.Rand, lo, hi float64) float64 {
	return lo * math.Exp(rng.Float64()*math.Log(hi/lo))
}

// kinds returns the kinds of simulated jobs by name: candidates, price per hour
// and results, drawn from a random source.
func kinds() map[string]func(*rand.Rand) ([]data.Config, func(data.Config) float64, physics) {
	return map[string]func(*rand.Rand) ([]data.Config, func(data.Config) float64, physics){
		"cloud": cloud, "training": training, "limit": limit,
		"needle": needle, "plateau": plateau, "waves": waves, "categories": categories,
		"cliff": cliff, "spikes": spikes, "reversal": reversal, "serving": serving,
	}
}

// machines are three families of four sizes, in clusters of eight sizes.
func machines() ([]data.Config, func(data.Config) float64) {
	var cands []data.Config
	for _, perCore := range []float64{2, 4, 8} {
		for _, cores := range []int{2, 4, 8} {
			for _, n := range []int{2, 4, 6, 8, 12, 16, 24, 32, 40, 48} {
				cands = append(cands, data.Config{Mode: data.AllReduce, Workers: n, Extra: map[string]string{
					"vcpus": strconv.Itoa(cores), "ram_gib": strconv.FormatFloat(perCore*float64(cores), 'g', -1, 64)}})
			}
		}
	}
	return cands, func(c data.Config) float64 {
		return float64(c.Workers) * (0.035*knobOf(c, "vcpus") + 0.004*knobOf(c, "ram_gib"))
	}
}

// cloud is analytics: serial and parallel work, a shuffle, a slowdown while the
// data exceed the memory of all machines, and a crash with too little memory
// per machine.
func cloud(rng *rand.Rand) ([]data.Config, func(data.Config) float64, physics) {
	cands, price := machines()
	serial, work, shuffle := between(rng, 10, 200), between(rng, 5e3, 2e5), between(rng, 0.1, 10)
	size, slow, need := between(rng, 16, 600), between(rng, 1, 15), between(rng, 0.1, 6)
	return cands, price, func(c data.Config) (float64, data.Status) {
		n, memory := float64(c.Workers), float64(c.Workers)*knobOf(c, "ram_gib")
		seconds := serial + work/math.Pow(n*knobOf(c, "vcpus"), 0.95) + shuffle*n
		if missing := 1 - memory/size; missing > 0 {
			seconds *= 1 + (slow-1)*math.Sqrt(missing)
		}
		if knobOf(c, "ram_gib") < need+size/n/20 {
			return seconds * 0.2, data.Failed
		}
		return seconds, data.OK
	}
}

// training is data-parallel: GPU types of different speed, memory and price;
// batches run out of memory earlier with one optimizer than with the other.
func training(rng *rand.Rand) ([]data.Config, func(data.Config) float64, physics) {
	cands := space(map[string][]string{"gpu_type": {"t4", "v100", "a100"}, "workers": {"1", "2", "4", "8", "16", "32"},
		"local_batch": {"8", "16", "32", "64", "128", "256", "512"}, "optimizer": {"sgd", "adam"}}, "gpu_type", "workers", "local_batch", "optimizer")
	speed, memory := map[string]float64{"t4": 1, "v100": 3, "a100": 8}, map[string]float64{"t4": 15, "v100": 15, "a100": 39}
	price := map[string]float64{"t4": 0.5, "v100": 2.5, "a100": 4}
	perSample, half, net := between(rng, 0.002, 0.05), between(rng, 4, 64), between(rng, 0.005, 0.3)
	state, sample, critical := between(rng, 0.5, 6), between(rng, 0.02, 0.6), between(rng, 200, 20000)
	return cands, func(c data.Config) float64 { return float64(c.Workers) * price[c.GPUType] }, func(c data.Config) (float64, data.Status) {
		n, b := float64(c.Workers), c.LocalBatch
		step := perSample / speed[c.GPUType] * (b + half)
		if n > 1 {
			step += net * (n - 1) / n * (1 + 0.1*math.Log2(n))
		}
		held, steps := state, 1+critical/(n*b)
		if c.Extra["optimizer"] == "adam" {
			held, steps = 3*state, 0.7*steps
		}
		if held+sample*b > memory[c.GPUType] {
			return 0.1 * step * 1000, data.OOM
		}
		return step * steps * 1000, data.OK
	}
}

// limit is training to an accuracy with a time limit: with small learning rates
// it takes too long, with those too large for the batch it never ends.
func limit(rng *rand.Rand) ([]data.Config, func(data.Config) float64, physics) {
	cands := space(map[string][]string{"workers": {"1", "2", "4", "8", "16"}, "vcpus": {"1", "2", "4", "8"}, "sync": {"0", "1"},
		"learning_rate": {"0.0001", "0.001", "0.01", "0.1"}, "batch": {"16", "64", "256"}}, "workers", "vcpus", "sync", "learning_rate", "batch")
	for _, c := range cands {
		c.Extra["ram_gib"] = strconv.Itoa(2 * int(knobOf(c, "vcpus")))
	}
	best, width := math.Log10(between(rng, 0.0003, 0.03)), between(rng, 0.5, 1.5)
	work, net, stale := between(rng, 100, 2000), between(rng, 0.2, 5), between(rng, 0.01, 0.3)
	return cands, func(c data.Config) float64 { return float64(c.Workers+1) * 0.03 * knobOf(c, "vcpus") }, func(c data.Config) (float64, data.Status) {
		n, b, sync := float64(c.Workers), knobOf(c, "batch"), knobOf(c, "sync")
		off := (math.Log10(knobOf(c, "learning_rate")) - best - 0.5*math.Log10(b/64)) / width
		epochs := math.Exp(off*off) * (1 + (1-sync)*stale*n) * (1 + b/512)
		seconds := epochs * (work/(n*math.Pow(knobOf(c, "vcpus"), 0.8)) + net*math.Sqrt(64/b)*(1+sync*math.Log2(n)))
		if seconds > 600 || off > 2 {
			return 600, data.Timeout
		}
		return seconds, data.OK
	}
}

// BenchmarkMadeUp searches b.N tables of every simulated kind, and reports the
// evaluations and cost until within 5 %, the evaluations until the search
// stops, the share of searches that the rule stops, the share of these and of
// all that name a row within 5 % of the best, and the share of failed
// evaluations:
//
//	go test ./bayesopt/replay -run '^$' -bench MadeUp -benchtime 8x
func BenchmarkMadeUp(b *testing.B) {
	for kind := range kinds() {
		for _, method := range []string{"random", "tpe", "forest-ei", "cherrypick", "gp-ei", "guided"} {
			b.Run(kind+"/"+method, func(b *testing.B) {
				var tables []*Table
				for seed := range b.N {
					tables = append(tables, madeUp(kind, int64(2000+seed))) // seeds not used for tuning
				}
				results, err := Compare(b.Context(), tables, []string{method}, Settings{Budget: 25, Seeds: 1})
				if err != nil {
					b.Fatal(err)
				}
				var stops, right float64
				s := Score{}
				for _, r := range results {
					for k, v := range s.figures() {
						*v += *r.figures()[k] / float64(b.N)
					}
					if tr := r.Traces[0]; tr.Stop < 25 {
						stops++
						if tr.Found <= within*tr.Optimum {
							right++
						}
					}
				}
				b.ReportMetric(s.Evals, "evals-to-5%")
				b.ReportMetric(s.Cost, "cost/cheapest")
				b.ReportMetric(s.StopEvals, "stop-evals")
				b.ReportMetric(100*stops/float64(b.N), "%stopped")
				b.ReportMetric(100*right/max(1, stops), "%right-if-stopped")
				b.ReportMetric(100*s.StopWithin5, "%ends-within-5%")
				b.ReportMetric(100*s.Failed, "%failed")
			})
		}
	}
}
