// Command learn learns the priors of the speed model from measured jobs and
// says how well jobs are predicted whose dataset had no part in it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"

	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed"
	"knee/internal/quantile"
)

func main() {
	dir := flag.String("bench", "../shared/bench", "folder of measured data")
	only := flag.String("only", "", "score only protocols of this dataset")
	mode := flag.String("learn", "", "all, lodo")
	out := flag.String("o", "fit/prior/speed.json", "")
	rounds := flag.Int("rounds", 2, "")
	verbose := flag.Bool("v", false, "a line per split")
	cpu := flag.String("cpuprofile", "", "")
	flag.Parse()
	if *cpu != "" {
		f, _ := os.Create(*cpu)
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	jobs, err := loadJobs(*dir)
	if err != nil {
		log.Fatal(err)
	}
	splits, err := splitsOf(*dir, jobs)
	if err != nil {
		log.Fatal(err)
	}
	scored := slices.Clone(splits)
	if *only != "" {
		scored = slices.DeleteFunc(scored, func(s split) bool { return !strings.Contains(s.dataset+" "+s.protocol, *only) })
	}
	priors := map[string]*prior.Speed{}
	examples := examplesOf(splits)
	without := func(fold string) []split {
		return slices.DeleteFunc(slices.Clone(examples), func(s split) bool { return s.fold() == fold })
	}
	switch *mode {
	case "all":
		p := learn(without(""), *rounds, log.Printf)
		fmt.Print(describe(p))
		text, _ := json.MarshalIndent(p, "", " ")
		os.WriteFile(*out, append(text, '\n'), 0o644)
		report(os.Stdout, scored, func(split) *prior.Speed { return p }, *verbose)
		return
	case "lodo":
		for _, s := range scored {
			f := s.fold()
			if priors[f] == nil {
				fmt.Println("without", f)
				priors[f] = learn(without(f), *rounds, log.Printf)
				fmt.Print(describe(priors[f]))
				report(os.Stdout, slices.DeleteFunc(slices.Clone(scored), func(s split) bool { return s.fold() != f }), func(s split) *prior.Speed { return priors[s.fold()] }, *verbose)
			}
		}
		fmt.Println("leaving out")
		report(os.Stdout, scored, func(s split) *prior.Speed { return priors[s.fold()] }, *verbose)
		return
	}
	report(os.Stdout, scored, func(split) *prior.Speed { return prior.Default() }, *verbose)
}

// fold is what is left out when a split is scored: its dataset, all of one
// source together; of the parameter-server jobs, which are one dataset, the job.
func (s *split) fold() string {
	switch {
	case s.dataset == "ps":
		return "ps " + s.name
	case strings.HasPrefix(s.dataset, "vtrain"):
		return "vtrain"
	}
	return s.dataset
}

type result struct {
	split
	apes, linear, power []float64
	bias                float64
	hits                float64
	nlpd                float64
	err                 error
}

func report(out *os.File, splits []split, priorOf func(s split) *prior.Speed, verbose bool) {
	results := make([]result, len(splits))
	var wg sync.WaitGroup
	next := make(chan int)
	for range 2 {
		wg.Go(func() {
			for i := range next {
				results[i] = score(splits[i], priorOf(splits[i]))
			}
		})
	}
	for i := range splits {
		next <- i
	}
	close(next)
	wg.Wait()
	type key struct{ dataset, protocol string }
	by := map[key][]result{}
	var keys []key
	for _, r := range results {
		k := key{r.dataset, r.protocol}
		if by[k] == nil {
			keys = append(keys, k)
		}
		by[k] = append(by[k], r)
		if verbose {
			fmt.Fprintf(out, "  %s | %s | %s: %.1f%% linear %.1f power %.1f cover %.0f%% (%d) bias %+.2f\n", r.dataset, r.name, r.protocol, 100*mean(r.apes), 100*mean(r.linear), 100*mean(r.power), 100*r.hits/float64(len(r.apes)), len(r.apes), r.bias)
		}
	}
	for _, k := range keys {
		var all, lin, pow, means []float64
		var hits float64
		for _, r := range by[k] {
			if r.err != nil {
				fmt.Fprintln(out, k, r.name, r.err)
				continue
			}
			all = append(all, r.apes...)
			lin, pow = append(lin, r.linear...), append(pow, r.power...)
			means = append(means, mean(r.apes))
			hits += r.hits
		}
		fmt.Fprintf(out, "%-14s %-12s mape %6.1f  of means %6.1f  median %6.1f  coverage %5.1f   linear %6.1f power %6.1f  n %d\n", k.dataset, k.protocol, 100*mean(all), 100*mean(means),
			100*quantile.Median(all), 100*hits/float64(len(all)), 100*mean(lin), 100*mean(pow), len(all))
	}
}

func mean(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

func score(s split, pr *prior.Speed) result {
	r := result{split: s}
	m, err := speed.Fit(context.Background(), s.train, speed.Settings{Prior: pr})
	if err != nil {
		r.err = err
		return r
	}
	lin, pow := rulers(s.train)
	for _, t := range s.test {
		p, err := m.Predict(t.Config)
		if err != nil {
			r.err = err
			return r
		}
		e := p.StepTime
		r.bias += math.Log(e.Mean/t.StepTime) / float64(len(s.test))
		r.apes = append(r.apes, math.Abs(e.Mean/t.StepTime-1))
		r.linear = append(r.linear, math.Abs(lin(t)/t.StepTime-1))
		r.power = append(r.power, math.Abs(pow(t)/t.StepTime-1))
		if e.Lo <= t.StepTime && t.StepTime <= e.Hi {
			r.hits++
		}
	}
	return r
}

// rulers are linear scaling from the largest size measured and a power law:
// GPU-seconds per sample over the GPUs.
func rulers(train []data.Measurement) (linear, power func(m data.Measurement) float64) {
	per := func(m data.Measurement) float64 {
		if g := m.GlobalBatch(); g > 0 {
			return g / float64(m.Workers)
		}
		return 1
	}
	most := 0
	for _, r := range train {
		most = max(most, r.Workers)
	}
	var at []float64
	var x, y []float64
	for _, r := range train {
		u := math.Log(r.StepTime / per(r))
		if r.Workers == most {
			at = append(at, u)
		}
		x, y = append(x, math.Log(float64(r.Workers))), append(y, u)
	}
	u := mean(at)
	linear = func(m data.Measurement) float64 { return math.Exp(u) * per(m) }
	mx, my := mean(x), mean(y)
	var sxx, sxy float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	b := 0.
	if sxx > 0 {
		b = sxy / sxx
	}
	power = func(m data.Measurement) float64 {
		return math.Exp(my+b*(math.Log(float64(m.Workers))-mx)) * per(m)
	}
	return linear, power
}
