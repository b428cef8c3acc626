// Command learn chooses the constants of the guided search on recorded tables:
//
//	go run ./bayesopt/replay/learn -seeds 3 -layouts 4 TABLE.csv...
//
// It searches every table with the present constants and with each of them
// changed, and prints the loss of each setting per kind of table. Then it leaves
// out one kind at a time: the setting that is best on the others is scored on
// the one left out, beside the present one. The last line is the setting that
// is best on all.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"text/tabwriter"

	"knee/bayesopt"
	"knee/bayesopt/baseline"
	"knee/bayesopt/replay"
)

// setting is one choice of the constants, named by what differs.
type setting struct {
	name string
	bayesopt.Constants
}

// settings are the present constants and each of them changed.
func settings() []setting {
	now := bayesopt.LearnedConstants()
	out := []setting{{"present", now}}
	for _, c := range []struct {
		name   string
		of     func(*bayesopt.Constants) *float64
		values []float64
	}{
		{"failure cost", func(c *bayesopt.Constants) *float64 { return &c.FailureCost }, []float64{0, 0.01, 0.02, 0.04}},
		{"usual fits", func(c *bayesopt.Constants) *float64 { return &c.UsualFits }, []float64{0.8, 0.9, 0.95}},
		{"length sd", func(c *bayesopt.Constants) *float64 { return &c.LengthSD }, []float64{0.9, 1.3, 1.7}},
		{"jump chance", func(c *bayesopt.Constants) *float64 { return &c.JumpChance }, []float64{0, 0.25, 0.5}},
		{"record trust", func(c *bayesopt.Constants) *float64 { return &c.RecordTrust }, []float64{2, 4, 8}},
		{"stop chance", func(c *bayesopt.Constants) *float64 { return &c.StopChance }, []float64{0.03, 0.05, 0.08}},
	} {
		for _, v := range c.values {
			s := setting{fmt.Sprintf("%s %g", c.name, v), now}
			if p := c.of(&s.Constants); *p != v {
				*p = v
				out = append(out, s)
			}
		}
	}
	return out
}

// loss of a search of one table: the logarithm of the evaluations to within 5 %,
// a tenth of that of the evaluations until it stops, the share of searches that
// then name a worse row, and the share of evaluations that failed.
func loss(s replay.Score) float64 {
	return math.Log(s.Evals) + 0.1*math.Log(max(1, s.StopEvals)) + 1 - s.StopWithin5 + s.Failed
}

func main() {
	seeds := flag.Int("seeds", 3, "searches per table and setting")
	layouts := flag.Int("layouts", 4, "synthetic layout spaces")
	every := flag.Int("every", 1, "use every n-th table of a kind with more than ten")
	flag.Parse()
	if err := run(os.Stdout, flag.Args(), *seeds, *layouts, *every); err != nil {
		fmt.Fprintln(os.Stderr, "learn:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, files []string, seeds, layouts, every int) error {
	kinds := map[string][]*replay.Table{}
	for k := range layouts {
		t := replay.NewLayout(int64(1000 + k)) // not those of knee bench search
		kinds[t.Kind] = append(kinds[t.Kind], t)
	}
	for _, file := range files {
		tables, err := replay.LoadTables(file)
		if err != nil {
			return err
		}
		for k, t := range tables {
			if len(tables) <= 10 || k%every == 0 {
				kinds[t.Kind] = append(kinds[t.Kind], t)
			}
		}
	}
	all := settings()
	losses := make([]map[string]float64, len(all)) // by setting and kind
	for k, s := range all {
		losses[k] = map[string]float64{}
		for kind, tables := range kinds {
			budget := 20
			if len(tables[0].Candidates) > 100 && kind != "layout" {
				budget = 30
			}
			results, err := replay.Compare(context.Background(), tables, []string{baseline.Guided},
				replay.Settings{Goal: replay.Goal{Constants: &s.Constants}, Budget: budget, Seeds: seeds})
			if err != nil {
				return err
			}
			for _, r := range results {
				losses[k][kind] += loss(r.Score) / float64(len(tables))
			}
		}
	}
	return report(w, slices.Sorted(maps.Keys(kinds)), all, losses)
}

// best returns the setting of least mean loss over all kinds but one.
func best(kinds []string, losses []map[string]float64, but string) int {
	pick, least := 0, math.Inf(1)
	for k, l := range losses {
		var sum float64
		for _, kind := range kinds {
			if kind != but {
				sum += l[kind]
			}
		}
		if sum < least {
			pick, least = k, sum
		}
	}
	return pick
}

func report(w io.Writer, kinds []string, all []setting, losses []map[string]float64) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "setting")
	for _, kind := range kinds {
		fmt.Fprint(t, "\t", kind)
	}
	fmt.Fprintln(t)
	for k, s := range all {
		fmt.Fprint(t, s.name)
		for _, kind := range kinds {
			fmt.Fprintf(t, "\t%.3f", losses[k][kind])
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t, "\nleft out\tbest on the others\tits loss there\tof the present")
	for _, kind := range kinds {
		pick := best(kinds, losses, kind)
		fmt.Fprintf(t, "%s\t%s\t%.3f\t%.3f\n", kind, all[pick].name, losses[pick][kind], losses[0][kind])
	}
	fmt.Fprintf(t, "\nbest on all: %s\n", all[best(kinds, losses, "")].name)
	return t.Flush()
}
