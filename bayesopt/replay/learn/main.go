// Command learn chooses the constants of the guided search on recorded tables:
//
//	go run ./bayesopt/replay/learn -seeds 3 -layouts 4 TABLE.csv...
//
// It searches every table with the present constants and with each of them
// changed, and prints the loss of each setting per kind of table. A fold is a
// part of the tables that is left out: every kind, and every other table. For
// each fold the value of every constant that is best on the rest is taken, all
// of them together are scored on the fold, and what they score is printed
// beside the present constants. The last line is what is best on all.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"text/tabwriter"

	"knee/bayesopt"
	"knee/bayesopt/baseline"
	"knee/bayesopt/replay"
	"knee/internal/parallel"
	"knee/profile"
)

// run is one search.
type run struct {
	setting bayesopt.Constants
	table   *replay.Table
	seed    int64
}

// learner holds the searches made so far.
type learner struct {
	seeds  int
	scores map[run]score
}

// search makes the runs that were not made yet.
func (l *learner) search(settings []bayesopt.Constants, tables []*replay.Table) error {
	var missing []run
	for _, c := range settings {
		for _, t := range tables {
			for seed := range l.seeds {
				r := run{c, t, int64(seed)}
				if _, done := l.scores[r]; !done {
					missing = append(missing, r)
				}
			}
		}
	}
	var mu sync.Mutex
	return parallel.Each(len(missing), 1, func() func(int) error {
		return func(i int) error {
			r := missing[i]
			g := replay.Goal{Constants: &r.setting}
			method, err := r.table.NewMethod(baseline.Guided, g, r.seed)
			if err != nil {
				return err
			}
			trace, err := r.table.Search(method, g, budget(r.table), r.seed)
			mu.Lock()
			defer mu.Unlock()
			l.scores[r] = scoreOf(trace)
			return err
		}
	})
}

func budget(t *replay.Table) int {
	if len(t.Candidates) > 100 && t.Kind != "layout" && !t.Plans() {
		return 30
	}
	return 20
}

func main() {
	seeds := flag.Int("seeds", 3, "searches per table and setting")
	layouts := flag.Int("layouts", 4, "synthetic layout spaces")
	every := flag.Int("every", 1, "use every n-th table of a file with more than ten")
	flag.Parse()
	tables, err := load(flag.Args(), *layouts, *every)
	if err == nil {
		err = learn(os.Stdout, tables, *seeds)
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

// learn prints the losses by kind, and the score of every fold.
func learn(w io.Writer, tables []*replay.Table, seeds int) error {
	l := &learner{seeds: seeds, scores: map[run]score{}}
	now := bayesopt.LearnedConstants()
	all := []bayesopt.Constants{now}
	for _, k := range knobs() {
		all = append(all, k.settings(now)...)
	}
	if err := l.search(all, tables); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	folds := foldsOf(tables)
	fmt.Fprint(t, "setting")
	for _, f := range folds {
		fmt.Fprint(t, "\t", f.name)
	}
	fmt.Fprintln(t)
	for _, c := range all {
		fmt.Fprint(t, describe(now, c))
		for _, f := range folds {
			fmt.Fprintf(t, "\t%.3f", l.score(c, f.of).loss)
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t, "\nleft out\tchosen on the others\tevaluations\tends within 5 %\tafter\tfailed\tpresent: evaluations\tends within 5 %\tafter\tfailed")
	for _, f := range folds {
		chosen := l.choose(now, f.rest)
		if err := l.search([]bayesopt.Constants{chosen}, f.of); err != nil {
			return err
		}
		fmt.Fprintf(t, "%s\t%s", f.name, describe(now, chosen))
		for _, c := range []bayesopt.Constants{chosen, now} {
			s := l.score(c, f.of)
			fmt.Fprintf(t, "\t%.2f\t%.0f %%\t%.1f\t%.1f %%", s.evals, 100*s.within, s.stop, 100*s.failed)
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t, "\nbest on all:", describe(now, l.choose(now, tables)))
	return t.Flush()
}
