// Command learn learns the priors of the speed model from measured jobs of
// others, and says how well jobs are predicted that had no part in it.
//
//	go run ./fit/prior/learn -bench DIR            learns from all jobs and writes the prior
//	go run ./fit/prior/learn -bench DIR -leave-out  learns once for every dataset without it and
//	                                                scores the dataset (for parameter servers, the job)
//	go run ./fit/prior/learn -bench DIR -memory    learns the prior of the memory model
//	go run ./fit/prior/learn -bench DIR -score      scores the prior that is there, jobs that it
//	                                                was learned from included
//
// Scores stand beside those of two rulers on the same rows: linear scaling
// from the largest size measured and a power law; and where the study has
// knobs, of a Gaussian process on the logarithms of all knobs.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"regexp"
	"slices"
	"strings"

	"knee/fit/prior"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer, args []string) error {
	flags := flag.NewFlagSet("learn", flag.ContinueOnError)
	dir := flags.String("bench", "../shared/bench", "folder of measured data")
	out := flags.String("o", "fit/prior/speed.json", "file to write the prior to")
	sweeps := flags.Int("sweeps", 3, "sweeps over all numbers of the prior")
	leaveOut := flags.Bool("leave-out", false, "score every dataset under a prior learned without it")
	score := flags.Bool("score", false, "score the prior that is there")
	only := flags.String("only", "", "score only datasets and protocols whose names contain this")
	most := flags.Int("examples", 8, "splits of one dataset and protocol to learn from")
	match := flags.String("learn", "", "learn only numbers whose names match this regular expression; what is written keeps the others of the prior that is there")
	verbose := flags.Bool("v", false, "a line for every split")
	peaks := flags.Bool("memory", false, "learn the prior of the memory model instead, and write fit/memory/prior.json")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *peaks {
		return learnMemory(*dir)
	}
	which, err := regexp.Compile(*match)
	if err != nil {
		return err
	}
	jobs, err := loadJobs(*dir)
	if err != nil {
		return err
	}
	splits, err := splitsOf(*dir, jobs)
	if err != nil {
		return err
	}
	examples := examplesOf(splits, *most)
	scored := slices.DeleteFunc(splits, func(s split) bool { return !strings.Contains(s.dataset+" "+s.protocol, *only) })
	if *score {
		return report(w, scored, prior.Default(), *verbose)
	}
	if !*leaveOut {
		from, err := start()
		if *match != "" {
			from, err = clone(prior.Default()), nil
		}
		if err != nil {
			return err
		}
		learned, err := learnStages(from, examples, examples, which, *sweeps, log.Printf)
		if err != nil {
			return err
		}
		p := halfway(from, learned)
		p.Provenance = provenance(examples)
		if *match != "" {
			p.Provenance = append(slices.Clone(from.Provenance), "numbers whose names match "+*match+", learned afterwards from what of the above they concern")
		}
		text, err := json.MarshalIndent(p, "", " ")
		if err != nil {
			return err
		}
		return os.WriteFile(*out, append(text, '\n'), 0o644)
	}
	for len(scored) > 0 {
		f := scored[0].fold()
		log.Printf("without %s", f)
		rest := slices.DeleteFunc(slices.Clone(examples), func(s split) bool { return s.fold() == f })
		from, err := start()
		if err != nil {
			return err
		}
		of := slices.DeleteFunc(slices.Clone(scored), func(s split) bool { return s.fold() != f })
		learned, err := learnStages(from, rest, of, which, *sweeps, log.Printf)
		if err != nil {
			return err
		}
		for _, c := range []struct {
			name  string
			prior *prior.Speed
		}{{"halfway, as it ships", halfway(from, learned)}, {"starting values", from}, {"learned", learned}} {
			fmt.Fprintf(w, "\nwithout %s: %s\n", f, c.name)
			if err := report(w, of, c.prior, *verbose); err != nil {
				return err
			}
		}
		scored = slices.DeleteFunc(scored, func(s split) bool { return s.fold() == f })
	}
	return nil
}

// provenance says what a prior was learned from.
func provenance(examples []split) []string {
	jobs, rows := map[string]map[string]bool{}, map[string]int{}
	for _, s := range examples {
		if jobs[s.dataset] == nil {
			jobs[s.dataset] = map[string]bool{}
		}
		if !jobs[s.dataset][s.name] {
			rows[s.dataset] += len(s.rows)
		}
		jobs[s.dataset][s.name] = true
	}
	text := []string{fmt.Sprintf("learned by knee/fit/prior/learn from %d splits of measured jobs; starting values in its start.json", len(examples))}
	for d := range jobs {
		text = append(text, fmt.Sprintf("%s: %d jobs, %d measurements (%s)", d, len(jobs[d]), rows[d], sources()[strings.TrimSuffix(d, " layouts")]))
	}
	slices.Sort(text[1:])
	return text
}

// sources says where the datasets come from.
func sources() map[string]string {
	return map[string]string{
		"allreduce":     "Pollux OSDI'21 artifact on T4, Sia SOSP'23 artifact on A100",
		"ps":            "DL2",
		"gavel":         "Gavel OSDI'20",
		"mlperf":        "MLCommons training results v3.1, v4.0, v4.1",
		"llm-foundry":   "mosaicml/llm-foundry",
		"vtrain-single": "vTrain MICRO'24", "vtrain-multi": "vTrain MICRO'24",
		"rubick":     "Rubick MLSys'25",
		"sailor":     "Sailor",
		"bigscience": "bigscience-workshop",
	}
}
