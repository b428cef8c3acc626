// Command learn learns the prior of the speed model from measured jobs, scores
// it on held-out sources, and writes it.
//
//	go run ./fit/prior/learn -bench DIR
//	go run ./fit/prior/learn -bench DIR -memory    the prior of the memory model
//
// It starts from round physical values (start.go) and moves each scale of the
// prior separately, as far as the sources agree that held-out rows get
// likelier, and only if sources gain from what was learned without them. This is
// repeated without each source. If the held-out sources' rows
// get likelier by more than two standard errors, the prior learned from all is
// written, else the starting values.
//
// Scores are compared with two baselines on the same rows: linear scaling from
// the largest size measured, and a power law; with knobs, also with a Gaussian
// process on the logarithms of all knobs.
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
	"knee/internal/grouped"
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
	only := flags.String("only", "", "score the starting values on datasets and protocols whose names match this regular expression, and write nothing")
	verbose := flags.Bool("v", false, "a line for every split")
	limited := flags.Bool("limit", false, "with -only: a time limit ended the slower two fifths of the measurements to fit; a rival leaves them out")
	peaks := flags.Bool("memory", false, "learn the prior of the memory model instead, and write fit/memory/prior.json")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *peaks {
		return learnMemory(*dir)
	}
	jobs, err := loadJobs(*dir)
	if err != nil {
		return err
	}
	splits, err := splitsOf(*dir, jobs)
	if err != nil {
		return err
	}
	from := start()
	if *only != "" {
		which, err := regexp.Compile(*only)
		if err != nil {
			return err
		}
		splits = slices.DeleteFunc(splits, func(s split) bool { return !which.MatchString(s.dataset + " " + s.protocol) })
		if *limited {
			for i := range splits {
				splits[i].limit()
			}
		}
		scores, err := scoresOf(splits, func(string) *prior.Speed { return from })
		if err == nil {
			report(w, scores, *verbose)
		}
		return err
	}
	p, err := learnAll(w, from, jobs, splits, *verbose)
	if err != nil {
		return err
	}
	return write(*out, p)
}

// write writes a prior to a file.
func write(path string, prior any) error {
	text, err := json.MarshalIndent(prior, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// learnAll learns a prior and reports its scores on held-out sources.
func learnAll(w io.Writer, from *prior.Speed, jobs []*job, splits []split, verbose bool) (*prior.Speed, error) {
	examples := examplesOf(splits)
	found := gainsOf(from, examples, log.Printf)
	without := map[string]*prior.Speed{}
	for _, s := range splits {
		if without[s.source()] == nil {
			p, moves := learn(from, found, s.source())
			without[s.source()] = p
			fmt.Fprintf(w, "learned without %s: %s\n", s.source(), strings.Join(moves, ", "))
		}
	}
	p, moves := learn(from, found)
	gain, se, by := betterBy(from, without, examples)
	verdict := fmt.Sprintf("rows of sources left out of the learning are likelier than under the starting values by %.3f ± %.3f of the logarithm", gain, se)
	fmt.Fprintf(w, "learned from all: %s\n%s:%s\n", strings.Join(moves, ", "), verdict, words(by))
	if gain <= 2*se {
		p, moves, without = from, []string{"nothing"}, nil
	}
	scores, err := scoresOf(splits, func(source string) *prior.Speed {
		if without == nil {
			return from
		}
		return without[source]
	})
	if err != nil {
		return nil, err
	}
	report(w, scores, verbose)
	c := *p
	c.Provenance = append(provenance(jobs, len(examples)), verdict, "moved from the starting values (start.go): "+strings.Join(moves, ", "))
	fmt.Fprintf(w, "\n%s\n", strings.Join(c.Provenance, "\n"))
	return &c, nil
}

// provenance describes the data of a prior: jobs, and how many splits of them were
// learned from.
func provenance(jobs []*job, splits int) []string {
	_, of := grouped.By(jobs, func(j *job) string { return j.dataset })
	text := []string{fmt.Sprintf("go run ./fit/prior/learn, from %d splits of measured jobs", splits)}
	for _, s := range sources() {
		rows := 0
		for _, j := range of[s.dataset] {
			rows += len(j.rows)
		}
		if rows > 0 {
			text = append(text, fmt.Sprintf("%s: %d jobs, %d measurements (%s)", s.dataset, len(of[s.dataset]), rows, s.source))
		}
	}
	slices.Sort(text[1:])
	return text
}
