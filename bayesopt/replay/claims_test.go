package replay

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"knee/bayesopt"
	"knee/internal/bench"
	"knee/internal/parallel"
	"knee/profile"
)

// BenchmarkClaims compares the claimed probability that something is better by
// 5 % with how often it is, on tables whose seeds are used for nothing else, with
// b.N searches of every recorded table, and learns Constants.StopChance:
//
//	go test ./bayesopt/replay -v -run '^$' -bench Claims -benchtime 1x
//
// It prints, per kind of table and from the seventh trial on, the mean claim and
// share, and the mean log score (0 is best) beside that of claiming the share
// always. Then each kind is left out once: the StopChance learned on the others
// decides when its searches stop. The last line is that learned on all.
func BenchmarkClaims(b *testing.B) {
	tables := learningTables(b)
	for seed := range int64(12) {
		t, err := steps(11000 + seed)
		if err != nil {
			b.Fatal(err)
		}
		tables = append(tables, t)
	}
	searches := claimsOn(b, tables, b.N)
	for _, kind := range slices.Sorted(maps.Keys(searches)) {
		var n, said, was, score float64
		for _, s := range searches[kind] {
			for k, claim := range s.claims {
				n, said = n+1, said+claim
				claim = min(max(claim, 0.002), 0.998) // claims are averages of about a thousand draws
				if s.right[k] {
					score += math.Log1p(-claim)
				} else {
					was, score = was+1, score+math.Log(claim)
				}
			}
		}
		share := min(max(was/n, 1e-9), 1-1e-9)
		b.Logf("%s: claimed %.3f, true %.3f; log score %.3f, constant %.3f", kind, said/n, was/n, score/n, share*math.Log(share)+(1-share)*math.Log1p(-share))
	}
	for _, kind := range slices.Sorted(maps.Keys(searches)) {
		rest := maps.Clone(searches)
		delete(rest, kind)
		chance := stopChance(rest)
		stopped, right, after := stops(searches[kind], chance)
		b.Logf("%s left out: stop below %g: %d of %d searches stop, %d of them within 5 %%; end after %.1f trials", kind, chance, stopped, len(searches[kind]), right, after)
	}
	b.Logf("on all: stop below %g", stopChance(searches))
}

// learningTables are recorded tables (every fourth of a file with more than ten),
// synthetic layouts, and twelve made-up tables of every kind of whole jobs.
func learningTables(b *testing.B) []*Table {
	b.Helper()
	tables := recorded(b)
	for _, name := range []string{"rubick", "vtrain-multi", "vtrain-single"} {
		of, err := LoadTables(filepath.Join(bench.Dir(b), "scaling", name+".csv"))
		if err != nil {
			b.Fatal(err)
		}
		for k, t := range of {
			if len(of) <= 10 || k%4 == 0 {
				tables = append(tables, t)
			}
		}
	}
	for k := range 4 {
		tables = append(tables, NewLayout(int64(1000+k))) // seeds differ from those of knee bench search
	}
	for _, t := range tables {
		if t.Plans() {
			t.Forms = profile.LayoutForms(t.Architecture)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds())) {
		for seed := range int64(12) {
			tables = append(tables, madeUp(kind, 11000+seed))
		}
	}
	return tables
}

// claims are those of one search from the seventh trial on, and whether its best
// trial by then is within 5 % of the best of the table.
type claims struct {
	claims []float64
	right  []bool
}

// claimsOn searches the tables and returns the claims by kind of table.
func claimsOn(b *testing.B, tables []*Table, seeds int) map[string][]claims {
	b.Helper()
	all, mu := map[string][]claims{}, sync.Mutex{}
	err := parallel.Each(len(tables)*seeds, 1, func() func(int) error {
		return func(job int) error {
			t, seed := tables[job/seeds], int64(job%seeds)
			g := Goal{Time: t.steps != nil} // the highest throughput
			s, err := bayesopt.NewGuided(t.Options(g, seed))
			if err != nil {
				return err
			}
			h, best, c := bayesopt.History{Candidates: t.Candidates}, math.Inf(1), claims{}
			for n := range min(25, len(t.Candidates)) {
				next, err := s.Next(h)
				if err != nil {
					return err
				}
				if n >= 6 && !math.IsInf(best, 1) {
					c.claims, c.right = append(c.claims, next.Better), append(c.right, best <= within*t.Optimum(g))
				}
				h.Measured = append(h.Measured, t.measurement(next.Index, g, seed, 1))
				best = min(best, g.value(t.Outcomes[next.Index]))
			}
			mu.Lock()
			defer mu.Unlock()
			all[t.Kind] = append(all[t.Kind], c)
			return nil
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// stops returns the searches that stop at the first claim below chance, how many
// of them are right, and the mean number of trials.
func stops(searches []claims, chance float64) (stopped, right int, after float64) {
	for _, s := range searches {
		n := slices.IndexFunc(s.claims, func(claim float64) bool { return claim < chance })
		if n < 0 {
			after += 25
			continue
		}
		stopped, after = stopped+1, after+6+float64(n)
		if s.right[n] {
			right++
		}
	}
	return stopped, right, after / float64(len(searches))
}

// stopChance returns the largest probability at which nine of ten searches that
// stop are right on every kind of table.
func stopChance(searches map[string][]claims) float64 {
	for _, chance := range []float64{0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.005} {
		kept := true
		for _, of := range searches {
			stopped, right, _ := stops(of, chance)
			kept = kept && 10*right >= 9*stopped
		}
		if kept {
			return chance
		}
	}
	return 0
}

// The probability is the largest that keeps the promise on the worst kind.
func TestStopChance(t *testing.T) {
	good := claims{[]float64{0.3, 0.08, 0.04}, []bool{false, true, true}}
	late := claims{[]float64{0.3, 0.08, 0.04}, []bool{false, false, true}}
	if got := stopChance(map[string][]claims{"a": {good}}); got != 0.2 {
		t.Errorf("all right below 0.1: %g, want 0.2, the largest at which the same claims stop", got)
	}
	if got := stopChance(map[string][]claims{"a": {good, good}, "b": {late}}); got != 0.07 {
		t.Errorf("one kind wrong below 0.1: %g, want 0.07", got)
	}
	if stopped, right, after := stops([]claims{good, late}, 0.1); stopped != 2 || right != 1 || after != 7 {
		t.Errorf("below 0.1 %d stop, %d right, after %g; want 2, 1, 7", stopped, right, after)
	}
}
