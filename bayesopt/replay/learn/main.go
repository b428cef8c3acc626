// Command learn chooses the constants of the guided search on recorded tables:
//
//	go run ./bayesopt/replay/learn -seeds 3 -layouts 4 TABLE.csv...
//
// It searches every table with the present constants and with each of them
// changed, and prints the loss of each setting per kind of table. Each kind is
// left out once: the best values on the others are scored together on it,
// beside the present constants. The last line is the best setting on all.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"knee/bayesopt"
	"knee/bayesopt/replay"
	"knee/profile"
)

func main() {
	l := &learner{scores: map[run]replay.Score{}}
	flag.IntVar(&l.seeds, "seeds", 3, "searches per table and setting")
	flag.IntVar(&l.budget, "budget", 20, "evaluations per search")
	layouts := flag.Int("layouts", 4, "synthetic layout spaces")
	every := flag.Int("every", 1, "use every n-th table of a file with more than ten")
	flag.Parse()
	tables, err := load(flag.Args(), *layouts, *every)
	if err == nil {
		err = l.learn(os.Stdout, tables)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "learn:", err)
		os.Exit(1)
	}
}

func load(files []string, layouts, every int) ([]*replay.Table, error) {
	var all []*replay.Table
	for k := range layouts {
		all = append(all, replay.NewLayout(int64(1000+k))) // seeds differ from those of knee bench search
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
func (l *learner) learn(w io.Writer, tables []*replay.Table) error {
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
			fmt.Fprintf(t, "\t%.3f", l.mean(loss, c, f.of))
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
			mean := func(figure func(replay.Score) float64) float64 { return l.mean(figure, c, f.of) }
			fmt.Fprintf(t, "\t%.2f\t%.0f %%\t%.1f\t%.1f %%", mean(func(s replay.Score) float64 { return s.Evals }),
				100*mean(func(s replay.Score) float64 { return s.StopWithin5 }), mean(func(s replay.Score) float64 { return s.StopEvals }),
				100*mean(func(s replay.Score) float64 { return s.Failed }))
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t, "\nbest on all:", describe(now, l.choose(now, tables)))
	return t.Flush()
}
