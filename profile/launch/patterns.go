package launch

import (
	"fmt"
	"math"
	"regexp"
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

// patternTable holds the formats in the words of the programs' own
// documentation and source. Rates that a program prints for each worker are
// worker_throughput; a program that averages over its whole run says so here,
// since its first lines then hold back the last ones.
func patternTable() map[string][]string {
	return map[string][]string{
		// DeepSpeed, deepspeed/utils/timer.py, with steps_per_print. Rates are
		// of all workers.
		"deepspeed": {`global_step=` + quantity("step") + `, RunningAvgSamplesPerSec=\S+ CurrSamplesPerSec=` + quantity("throughput")},
		// Horovod, examples/*/*_synthetic_benchmark.py: ten batches a line.
		"horovod": {`Iter #` + quantity("step") + `: ` + quantity("worker_throughput") + ` img/sec per (?:GPU|CPU)`},
		// Hugging Face Trainer, whose progress is drawn by tqdm on one line that
		// ends when something is logged: set logging_steps to 10 or so. The rate
		// is tqdm's, smoothed over some steps.
		"huggingface": {
			quantity("step") + `/[0-9]+ \[[^\]]*?(?:` + quantity("steps_per_s") + `it/s|` + quantity("step_time_s") + `s/it)`,
			`'loss': '?` + quantity("loss"),
		},
		// Megatron-LM, megatron/training/training.py, with --log-interval.
		"megatron": {`iteration +` + quantity("step") + `/ *[0-9]+ \|.*?elapsed time per iteration \(ms\): ` + quantity("step_time_ms") +
			`(?:.*?lm loss: ` + quantity("loss") + `)?`},
		// MLPerf logging, where throughput and loss are keys of submissions.
		"mlperf": {
			`:::MLLOG .*"key": "tracked_stats".*?"throughput": ` + quantity("throughput"),
			`:::MLLOG .*"key": "throughput", "value": ` + quantity("throughput"),
			`:::MLLOG .*"key": "(?:train_loss|loss)", "value": ` + quantity("loss"),
		},
		// pytorch/examples, imagenet/main.py: the time of the last batch.
		"pytorch-imagenet": {`Epoch: \[[0-9]+\]\[ *` + quantity("step") + `/[0-9]+\]\s+Time +` + quantity("step_time_s") +
			`(?:.*?Loss +` + quantity("loss") + `)?`},
		// tensorflow/benchmarks, tf_cnn_benchmarks.py: the mean since the start.
		"tf-cnn-benchmarks": {`^` + quantity("step") + `\s+images/sec: ` + quantity("throughput") + ` \+/- \S+ \(jitter = \S+\)(?:\s+` + quantity("loss") + `)?`},
		// timm, train.py: the time of the last update.
		"timm": {`Train: [0-9]+ \[ *` + quantity("step") + `/[0-9]+.*?\].*?Loss: *` + quantity("loss") + `.*?Time: *` + quantity("step_time_s") + `s,`},
		// torchvision, references/classification/train.py: img/s of one process,
		// of the last batch.
		"torchvision": {`Epoch: \[[0-9]+\] +\[ *` + quantity("step") + `/[0-9]+\].*?img/s: ` + quantity("worker_throughput") +
			`(?:.*?loss: ` + quantity("loss") + `)?`},
	}
}

// newPattern returns the reader of a known format.
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

// forTrial implements [configured].
func (p pattern) forTrial(c data.Config) Parser {
	kinds := make([]regex, len(p.kinds))
	for i, r := range p.kinds {
		kinds[i] = r.forTrial(c).(regex)
	}
	p.kinds = kinds
	return p
}

// Parse implements Parser. A progress bar redraws its line after a carriage
// return; what was drawn last counts.
func (p pattern) Parse(line string) (Observation, bool, error) {
	all, any := unseen(), false
	for part := range strings.SplitSeq(line, "\r") {
		for _, r := range p.kinds {
			o, ok, err := r.Parse(part)
			if err != nil {
				return Observation{}, false, err
			}
			if ok {
				all.overlay(o)
				any = true
			}
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
