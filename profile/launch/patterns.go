package launch

import (
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"

	"knee/data"
)

// pattern reads the log of a known program: several expressions, each for one
// kind of line.
type pattern struct {
	name  string
	kinds []regex
}

// number is a figure as logs write it, with an exponent or without.
const number = `[0-9][0-9.]*(?:[eE][+-]?[0-9]+)?`

// quantity returns a named group that holds a number.
func quantity(name string) string { return "(?P<" + name + ">" + number + ")" }

// How tqdm writes where it is and how fast it goes, "20/100 [00:02<00:08,
// 9.80it/s" or "1.2s/it", and a loss among what the script adds to it.
var (
	tqdmBar  = quantity("step") + `/[0-9]+ \[[^\]]*?(?:` + quantity("steps_per_s") + `(?:it|batch|batches|step|steps)/s|` + quantity("step_time_s") + `s/(?:it|batch|step))`
	tqdmLoss = `(?:[^\]]*?loss[^=]*=` + quantity("loss") + `)?`
)

// patternTable holds the formats in the words of the programs' own
// documentation and source. Rates that a program prints for each worker are
// worker_throughput; a program that averages over its whole run says so here,
// since its first lines then hold back the last ones.
func patternTable() map[string][]string {
	return map[string][]string{
		// DeepSpeed, deepspeed/utils/timer.py, with steps_per_print. Rates are
		// of all workers.
		// Its pipeline engine, runtime/pipe/engine.py, prints lines of its own.
		"deepspeed": {
			`global_step=` + quantity("step") + `, RunningAvgSamplesPerSec=\S+ CurrSamplesPerSec=` + quantity("throughput"),
			`steps: ` + quantity("step") + ` loss: ` + quantity("loss") + ` iter time \(s\): ` + quantity("step_time_s"),
		},
		// Horovod, examples/*/*_synthetic_benchmark.py: ten batches a line.
		"horovod": {`Iter #` + quantity("step") + `: ` + quantity("worker_throughput") + ` img/sec per (?:GPU|CPU)`},
		// Hugging Face Trainer, whose progress is drawn by tqdm and whose loss
		// comes on a line of its own.
		"huggingface": {tqdmBar, `'loss': '?` + quantity("loss")},
		// Lightning's TQDMProgressBar. Validation draws bars of its own, which
		// are not steps of training.
		"lightning": {`^Epoch [0-9]+: .*?` + tqdmBar + tqdmLoss},
		// Megatron-LM, megatron/training/training.py, with --log-interval.
		"megatron": {`iteration +` + quantity("step") + `/ *[0-9]+ \|.*?elapsed time per iteration \(ms\): ` + quantity("step_time_ms") +
			`(?:.*?lm loss: ` + quantity("loss") + `)?`},
		// MLPerf logging, where throughput and loss are keys of submissions.
		"mlperf": {
			`:::MLLOG .*"key": "tracked_stats".*?"throughput": ` + quantity("throughput"),
			`:::MLLOG .*"key": "throughput", "value": ` + quantity("throughput"),
			`:::MLLOG .*"key": "(?:train_loss|loss)", "value": ` + quantity("loss"),
		},
		// NeMo's bar (1.x) and its lines (2.x): the time of the last step.
		"nemo": {
			`global_step[=:] *` + quantity("step") + `.*?train_step_timing in s[=:] *` + quantity("step_time_s"),
			`reduced_train_loss[=:] *` + quantity("loss"),
		},
		// pytorch/examples, imagenet/main.py: the time of the last batch.
		"pytorch-imagenet": {`Epoch: \[[0-9]+\]\[ *` + quantity("step") + `/[0-9]+\]\s+Time +` + quantity("step_time_s") +
			`(?:.*?Loss +` + quantity("loss") + `)?`},
		// tensorflow/benchmarks, tf_cnn_benchmarks.py: the mean since the start.
		"tf-cnn-benchmarks": {`^` + quantity("step") + `\s+images/sec: ` + quantity("throughput") + ` \+/- \S+ \(jitter = \S+\)(?:\s+` + quantity("loss") + `)?`},
		// timm, train.py: the time of the last update.
		"timm": {`Train: [0-9]+ \[ *` + quantity("step") + `/[0-9]+.*?\].*?Loss: *` + quantity("loss") + `.*?Time: *` + quantity("step_time_s") + `s,`},
		// Any bar of tqdm around the batches. The rate is tqdm's, smoothed over
		// some steps.
		"tqdm": {tqdmBar + tqdmLoss},
		// torchtitan, torchtitan/components/metrics.py, in colours: a counter, as
		// its tokens/s per device do not say how many tokens a sample has.
		"torchtitan": {`step: +` + quantity("step") + `\s+\S*loss: +` + quantity("loss") + `.*memory: +[0-9.]+GiB`},
		// torchvision, references/classification/train.py: img/s of one process,
		// of the last batch.
		"torchvision": {`Epoch: \[[0-9]+\] +\[ *` + quantity("step") + `/[0-9]+\].*?img/s: ` + quantity("worker_throughput") +
			`(?:.*?loss: ` + quantity("loss") + `)?`},
	}
}

func newPattern(name string) (Parser, error) {
	exprs, ok := patternTable()[name]
	if !ok {
		return nil, &data.InputError{Source: data.Source{Column: "metrics.pattern"}, Found: fmt.Sprintf("%q", name),
			Want: "one of " + strings.Join(data.MetricPatterns(), ", ")}
	}
	p := pattern{name: name}
	for _, expr := range exprs {
		re, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("pattern %s: %w", name, err)
		}
		p.kinds = append(p.kinds, regex{re: re})
	}
	return p, nil
}

// Wants implements Parser.
func (p pattern) Wants() string { return "lines as " + p.name + " prints them" }

func (p pattern) forTrial(c data.Config) Parser {
	kinds := make([]regex, len(p.kinds))
	for i, r := range p.kinds {
		kinds[i] = r.forTrial(c).(regex)
	}
	p.kinds = kinds
	return p
}

// Parse implements Parser.
func (p pattern) Parse(line string) (Observation, bool, error) {
	all, any := unseen(), false
	for _, r := range p.kinds {
		o, ok, err := r.Parse(line)
		if err != nil {
			return Observation{}, false, err
		}
		if ok {
			all.overlay(o)
			any = true
		}
	}
	return all, any, nil
}

// overlay takes over what another observation saw.
func (o *Observation) overlay(seen Observation) {
	for _, f := range []struct {
		to   *float64
		from float64
	}{{&o.Step, seen.Step}, {&o.StepTime, seen.StepTime}, {&o.SyncTime, seen.SyncTime}, {&o.Throughput, seen.Throughput}, {&o.Loss, seen.Loss}} {
		if !math.IsNaN(f.from) {
			*f.to = f.from
		}
	}
}

// PatternsByDetail lists the patterns as a log is to be tried on: bars last,
// which programs that say more draw too, and huggingface after tqdm, whose bar
// it has.
func PatternsByDetail() []string {
	bars := []string{"lightning", "tqdm", "huggingface"}
	all := slices.DeleteFunc(data.MetricPatterns(), func(name string) bool { return slices.Contains(bars, name) })
	return append(all, bars...)
}

// recogniser tells, of output in which nothing was found, whether a pattern
// would have found something.
type recogniser struct {
	patterns []Parser
	names    []string
	looked   int
	name     string // of the pattern; empty until one fits
	expr     string // drafted for a line that reports a step, if no pattern fits
}

// recogniseLines is how many lines are looked at: a script that prints its
// speed at all does so before that.
const recogniseLines = 1000

// look takes one line that the study's own parser could do nothing with.
func (r *recogniser) look(line string) {
	if r.name != "" || r.looked >= recogniseLines {
		return
	}
	r.looked++
	if r.patterns == nil {
		for _, name := range PatternsByDetail() {
			if p, err := newPattern(name); err == nil {
				r.patterns, r.names = append(r.patterns, p), append(r.names, name)
			}
		}
	}
	for i, p := range r.patterns {
		if _, ok, _ := p.Parse(line); ok {
			r.name = r.names[i]
			return
		}
	}
	if r.expr == "" {
		r.expr = Expression(line)
	}
}

// hint is what to tell the user, empty if nothing reports steps.
func (r *recogniser) hint() string {
	switch {
	case r.name == "" && r.expr != "":
		return fmt.Sprintf("; metrics: {regex: '%s'} in the study would read what it prints: check that it reads the right numbers", r.expr)
	case r.name == "":
		return ""
	}
	return fmt.Sprintf("; metrics: {pattern: %s} in the study would read what it prints", r.name)
}

// rankMark is what stands before the lines of a process in the log of a trial.
var rankMark = regexp.MustCompile(`^\[(?:worker|ps) [0-9]+\] `)

// Unread says what a trial printed in place of steps: how many lines, one of
// them, and the pattern that would read them; empty if it printed nothing. log
// is its file, of which the first 4 MiB are looked at.
func Unread(log string) string {
	f, err := os.Open(log)
	if err != nil {
		return "" // it has not been written yet
	}
	defer f.Close()
	var cut lines
	var like recogniser
	n, last := 0, ""
	text, _ := io.ReadAll(io.LimitReader(f, 4<<20)) // a shorter text will do
	_ = cut.split(text, func(line string) error {
		n, last = n+1, rankMark.ReplaceAllString(line, "")
		like.look(last)
		return nil
	})
	if n == 0 {
		return ""
	}
	hint := like.hint()
	if hint == "" {
		hint = "; if such lines report steps, describe them by metrics: {regex: …} in the study"
	}
	return fmt.Sprintf(" in %d lines such as %q%s", n, oneLine(last), hint)
}
