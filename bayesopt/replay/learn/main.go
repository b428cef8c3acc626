// Command learn chooses the constants of the guided search on recorded tables:
//
//	go run ./bayesopt/replay/learn -seeds 3 -layouts 4 -cache runs.jsonl TABLE.csv...
//
// It searches every table with the present constants and with each of them
// changed, and prints the loss of each setting per kind of table. A fold is a
// part of the tables that is left out: every kind, and every other table. For
// each fold the value of every constant that is best on the rest is taken, all
// of them together are scored on the fold, and what they score is printed
// beside the present constants. The last line is what is best on all. Searches
// are kept in the cache, so that it can be interrupted and called again.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"text/tabwriter"

	"knee/bayesopt"
	"knee/bayesopt/baseline"
	"knee/bayesopt/replay"
	"knee/internal/parallel"
	"knee/profile"
)

// run is what a search came to; see [replay.Trace].
type run struct {
	Setting bayesopt.Constants
	Table   string
	Seed    int
	Ratio   []float64 // best so far ÷ best there is after each evaluation, at most 100
	Stop    int       // evaluations when it would have stopped
	Found   float64   // value of what it would have named then ÷ best there is, at most 100
	Failed  float64   // share of the evaluations
}

// search runs what is not in the cache yet.
func (l *learner) search(settings []bayesopt.Constants, tables []*replay.Table) error {
	var todo []run
	for _, c := range settings {
		for _, t := range tables {
			for seed := range l.seeds {
				if r := (run{Setting: c, Table: t.Name, Seed: seed}); l.cache[r.key()] == nil {
					todo = append(todo, r)
				}
			}
		}
	}
	var mu sync.Mutex
	return parallel.Each(len(todo), 1, func() func(int) error {
		return func(i int) error {
			r := todo[i]
			t := tables[slices.IndexFunc(tables, func(t *replay.Table) bool { return t.Name == r.Table })]
			g := replay.Goal{Constants: &r.Setting}
			method, err := t.NewMethod(baseline.Guided, g, int64(r.Seed))
			if err != nil {
				return err
			}
			trace, err := t.Search(method, g, budget(t), int64(r.Seed))
			if err != nil {
				return fmt.Errorf("table %s, seed %d: %w", t.Name, r.Seed, err)
			}
			for _, b := range trace.Best {
				r.Ratio = append(r.Ratio, min(b/trace.Optimum, 100))
			}
			r.Stop, r.Found, r.Failed = trace.Stop, min(trace.Found/trace.Optimum, 100), float64(trace.Infeasible)/float64(len(trace.Best))
			mu.Lock()
			defer mu.Unlock()
			l.cache[r.key()] = &r
			return l.out.Encode(r)
		}
	})
}

func (r *run) key() string { return fmt.Sprint(r.Setting, r.Table, r.Seed) }

func budget(t *replay.Table) int {
	if len(t.Candidates) > 100 && t.Kind != "layout" && !t.Plans() {
		return 30
	}
	return 20
}

// learner holds the searches made so far.
type learner struct {
	seeds int
	cache map[string]*run
	out   *json.Encoder
}

func main() {
	seeds := flag.Int("seeds", 3, "searches per table and setting")
	layouts := flag.Int("layouts", 4, "synthetic layout spaces")
	every := flag.Int("every", 1, "use every n-th table of a file with more than ten")
	cache := flag.String("cache", "", "file that keeps the searches")
	flag.Parse()
	tables, err := load(flag.Args(), *layouts, *every)
	if err == nil {
		err = learn(os.Stdout, tables, *seeds, *cache)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "learn:", err)
		os.Exit(1)
	}
}

func load(files []string, layouts, every int) ([]*replay.Table, error) {
	var all []*replay.Table
	for k := range layouts {
		all = append(all, replay.NewLayout(int64(1000+k))) // not those of knee bench search
	}
	for _, file := range files {
		of, err := replay.LoadTables(file)
		if err != nil {
			return nil, err
		}
		for k, t := range of {
			if len(of) <= 10 || k%every == 0 {
				all = append(all, t)
			}
		}
	}
	for _, t := range all {
		if t.Plans() {
			t.Forms = profile.LayoutForms(t.Architecture)
		}
	}
	return all, nil
}

func learn(w io.Writer, tables []*replay.Table, seeds int, cache string) error {
	l := &learner{seeds: seeds, cache: map[string]*run{}, out: json.NewEncoder(io.Discard)}
	if cache != "" {
		f, err := os.OpenFile(cache, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		in := json.NewDecoder(f)
		for err == nil {
			var r run
			if err = in.Decode(&r); err == nil {
				l.cache[r.key()] = &r
			}
		}
		if !errors.Is(err, io.EOF) {
			return fmt.Errorf("cache %s: %w", cache, err)
		}
		l.out = json.NewEncoder(f)
	}
	now := bayesopt.LearnedConstants()
	all := []bayesopt.Constants{now}
	for _, k := range knobs() {
		all = append(all, k.settings(now)...)
	}
	if err := l.search(all, tables); err != nil {
		return err
	}
	return l.report(w, tables, all)
}

// report prints the losses by kind, and the score of every fold.
func (l *learner) report(w io.Writer, tables []*replay.Table, all []bayesopt.Constants) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	folds := foldsOf(tables)
	fmt.Fprint(t, "setting")
	for _, f := range folds {
		fmt.Fprint(t, "\t", f.name)
	}
	fmt.Fprintln(t)
	for _, c := range all {
		fmt.Fprint(t, describe(all[0], c))
		for _, f := range folds {
			fmt.Fprintf(t, "\t%.3f", l.score(c, f.of(tables)).loss)
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t, "\nleft out\tchosen on the others\tevaluations\tends within 5 %\tafter\tfailed\tpresent: evaluations\tends within 5 %\tafter\tfailed")
	for _, f := range folds {
		out, rest := f.of(tables), f.rest(tables)
		chosen := l.choose(all[0], rest)
		if err := l.search([]bayesopt.Constants{chosen}, out); err != nil {
			return err
		}
		a, b := l.score(chosen, out), l.score(all[0], out)
		fmt.Fprintf(t, "%s\t%s\t%.2f\t%.0f %%\t%.1f\t%.1f %%\t%.2f\t%.0f %%\t%.1f\t%.1f %%\n", f.name, describe(all[0], chosen),
			a.evals, 100*a.within, a.stop, 100*a.failed, b.evals, 100*b.within, b.stop, 100*b.failed)
	}
	fmt.Fprintf(t, "\nbest on all: %s\n", cmp.Or(describe(all[0], l.choose(all[0], tables)), "present"))
	return t.Flush()
}
