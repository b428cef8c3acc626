package launch

import (
	"fmt"
	"regexp"
	"strings"

	"knee/data"
)

const number = `[0-9][0-9.]*(?:[eE][+-]?[0-9]+)?`

func quantity(name string) string { return "(?P<" + name + ">" + number + ")" }

// Position and rate in a bar of tqdm, "20/100 [00:02<00:08, 9.80it/s" or
// "1.2s/it", and a loss in its postfix.
var (
	tqdmBar  = quantity("step") + `/[0-9]+ \[[^\]]*?(?:` + quantity("steps_per_s") + `(?:it|batch|batches|step|steps)/s|` + quantity("step_time_s") + `s/(?:it|batch|step))`
	tqdmLoss = `(?:[^\]]*?loss[^=]*=` + quantity("loss") + `)?`
)

// patternTable holds the formats from the programs' documentation and source.
// Rates printed per worker are worker_throughput. Programs that average over
// the whole run are marked: their first steps still affect the last lines.
func patternTable() map[string][]string {
	return map[string][]string{
		// DeepSpeed, deepspeed/utils/timer.py, with steps_per_print. Rates are of all
		// workers. The pipeline engine, runtime/pipe/engine.py, prints other lines.
		"deepspeed": {
			`global_step=` + quantity("step") + `, RunningAvgSamplesPerSec=\S+ CurrSamplesPerSec=` + quantity("throughput"),
			`steps: ` + quantity("step") + ` loss: ` + quantity("loss") + ` iter time \(s\): ` + quantity("step_time_s"),
		},
		// Horovod, examples/*/*_synthetic_benchmark.py: ten batches a line.
		"horovod": {`Iter #` + quantity("step") + `: ` + quantity("worker_throughput") + ` img/sec per (?:GPU|CPU)`},
		// Hugging Face Trainer, whose progress is drawn by tqdm and whose loss comes
		// on a separate line.
		"huggingface": {tqdmBar, `'loss': '?` + quantity("loss")},
		// Lightning's TQDMProgressBar; bars of validation do not match.
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
		// torchtitan, torchtitan/components/metrics.py, in colours: only a counter,
		// since its tokens/s per device need the tokens of a sample.
		"torchtitan": {`step: +` + quantity("step") + `\s+\S*loss: +` + quantity("loss") + `.*memory: +[0-9.]+GiB`},
		// torchvision, references/classification/train.py: img/s of one process,
		// of the last batch.
		"torchvision": {`Epoch: \[[0-9]+\] +\[ *` + quantity("step") + `/[0-9]+\].*?img/s: ` + quantity("worker_throughput") +
			`(?:.*?loss: ` + quantity("loss") + `)?`},
	}
}

func newPattern(name string) (regex, error) {
	exprs, ok := patternTable()[name]
	if !ok {
		return regex{}, &data.InputError{Source: data.Source{Column: "metrics.pattern"}, Found: fmt.Sprintf("%q", name),
			Want: "one of " + strings.Join(data.MetricPatterns(), ", ")}
	}
	r := regex{name: name}
	for _, expr := range exprs {
		r.kinds = append(r.kinds, regexp.MustCompile(expr))
	}
	return r, nil
}
