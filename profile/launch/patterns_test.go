package launch_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"knee/data"
	"knee/profile/launch"
)

// Lines in the formats of the programs, written for these tests after the
// programs' sources. A worker has a batch of 64 and two micro-steps.
func TestPatterns(t *testing.T) {
	nan := math.NaN()
	config := data.Config{Workers: 4, LocalBatch: 64, AccumSteps: 1}
	tested := map[string]bool{}
	for _, tc := range []struct {
		pattern, line          string
		step, time, rate, loss float64
	}{
		{"deepspeed", "[2025-03-01 10:00:00,123] [INFO] [timer.py:258:stop] epoch=0/micro_step=200/global_step=100, RunningAvgSamplesPerSec=801.25, CurrSamplesPerSec=812.5, MemAllocated=3.1GB, MaxMemAllocated=9.2GB", 100, nan, 812.5, nan},
		{"detectron2", "\x1b[32m[03/01 10:00:00 d2.utils.events]: \x1b[0m eta: 0:04:10  iter: 39  total_loss: 1.25  loss_cls: 0.61  loss_box_reg: 0.64  time: 0.3633  data_time: 0.0641  lr: 7.6e-06  max_mem: 433M", 39, nan, nan, 1.25},
		{"fairseq", "2025-03-01 10:00:00 | INFO | train_inner | epoch 001:    100 / 1891 loss=9.255, nll_loss=8.1, ppl=611.12, wps=57.3, ups=0.04, wpb=1613, bsz=80, num_updates=95, lr=2.8e-05, gnorm=3.23, train_wall=13, wall=1236", 95, nan, nan, 9.255},
		{"maxtext", "I0301 10:00:55.531340 1383 metric_logger.py:226] completed step: 7, seconds: 10.228, TFLOP/s/device: 350.869, Tokens/s/device: 19222.175, total_weights: 1572864, loss: 12.980, lm_loss: 12.980", 7, 10.228, nan, 12.98},
		{"mmengine", "03/01 10:00:53 - mmengine - INFO - Epoch(train)  [1][ 20/90]  base_lr: 1.0000e-02 lr: 1.0000e-02  eta: 0:00:13  time: 0.4050  data_time: 0.0010  memory: 4321  loss_cls: 0.5616  loss: 1.5616", 20, .405, nan, 1.5616},
		{"mmengine", "2025-03-01 10:00:15,123 - mmdet - INFO - Epoch [1][100/7517]\tlr: 0.00125, eta: 4:33:09, time: 0.595, data_time: 0.032, memory: 6836, loss_cls: 0.1939, acc: 93.4961, loss: 0.4890", 100, .595, nan, .489},
		{"horovod", "Iter #3: 320.0 img/sec per GPU", nan, .4, nan, nan},
		{"huggingface", "  5%|▌         | 50/1000 [00:25<08:03,  2.00it/s]", 50, .5, nan, nan},
		{"huggingface", "  5%|▌  | 50/1000 [00:27<08:03,  2.50s/it]", 50, 2.5, nan, nan},
		{"huggingface", "{'loss': 0.5, 'learning_rate': 4.75e-05, 'epoch': 0.15}", nan, nan, nan, .5},
		{"keras", "\x1b[1m  12/1875\x1b[0m \x1b[32m━━\x1b[0m\x1b[37m━━━━\x1b[0m \x1b[1m46s\x1b[0m 25ms/step - accuracy: 0.1250 - loss: 2.3125", 12, nan, nan, 2.3125},
		{"keras", " 12/1875 [..............................] - ETA: 46s - loss: 2.3125", 12, nan, nan, 2.3125},
		{"lightning", "Epoch 3:  20%|██        | 20/100 [00:02<00:08,  8.00it/s, v_num=0, train_loss_step=2.100, acc=0.5]", 10, .25, nan, 2.1}, // it counts batches
		{"tqdm", " 20%|██        | 20/100 [00:02<00:08,  8.00it/s, lr=0.1, loss=2.1]", 20, .125, nan, 2.1},
		{"tqdm", "epoch 2:  20%|██        | 20/100 [00:50<03:20,  2.50s/batch]", 20, 2.5, nan, nan},
		{"megatron", " iteration      100/  500000 | consumed samples:        25600 | elapsed time per iteration (ms): 1234.5 | learning rate: 1.500E-06 | global batch size:   256 | lm loss: 1.012345E+01 | loss scale: 1.0 | grad norm: 2.1 |", 100, 1.2345, nan, 10.12345},
		{"megatron", " [2025-03-01 10:00:00] iteration      100/  500000 | consumed samples: 25600 | elapsed time per iteration (ms): 800.0 | throughput per GPU (TFLOP/s/GPU): 180.1 |", 100, .8, nan, nan},
		{"deepspeed", "steps: 10 loss: 7.1234 iter time (s): 0.512 samples/sec: 62.500", 10, .512, nan, 7.1234},
		{"nemo", "Training epoch 0, iteration 1/249 | lr: 3.922e-06 | global_batch_size: 8 | global_step: 1 | reduced_train_loss: 1.653 | train_step_timing in s: 2.505 | consumed_samples: 16", 1, 2.505, nan, 1.653},
		{"nemo", "Epoch 0: :   1%|▏  | 1/100 [00:06<10:48, reduced_train_loss=10.90, global_step=9.000, consumed_samples=256.0, train_step_timing in s=6.430]", 9, 6.43, nan, 10.9},
		{"torchtitan", "[titan] 2025-03-01 10:00:24,123 - root - INFO - \x1b[31mstep: 10  \x1b[32mloss: 10.1034  \x1b[33mmemory: 51.88GiB(65.59%)  \x1b[34mtps: 6,712  \x1b[36mtflops: 388.70  \x1b[35mmfu: 39.30%\x1b[39m", 10, nan, nan, 10.1034},
		{"mlperf", `:::MLLOG {"namespace": "", "time_ms": 1740823200000, "event_type": "POINT_IN_TIME", "key": "tracked_stats", "value": {"throughput": 2456.7}, "metadata": {"file": "train.py", "lineno": 1, "step": 40}}`, nan, nan, 2456.7, nan},
		{"mlperf", `:::MLLOG {"namespace": "", "time_ms": 1740823200000, "event_type": "POINT_IN_TIME", "key": "train_loss", "value": 1.5, "metadata": {"file": "train.py"}}`, nan, nan, nan, 1.5},
		{"pytorch-imagenet", "Epoch: [0][  10/5005]\tTime  0.402 ( 1.234)\tData  0.000 ( 0.512)\tLoss 6.9876e+00 (7.0123e+00)\tAcc@1   0.00 (  0.10)\tAcc@5   0.78 (  0.51)", 10, .402, nan, 6.9876},
		{"tf-cnn-benchmarks", "10\timages/sec: 1234.5 +/- 1.2 (jitter = 3.4)\t7.123", 10, nan, 1234.5, 7.123},
		{"timm", "Train: 0 [  50/1251 (  4%)]  Loss: 6.93 (6.94)  Time: 0.512s, 2000.12/s  (0.600s, 1706.67/s)  LR: 1.000e-05  Data: 0.010 (0.100)", 50, .512, nan, 6.93},
		{"torchvision", "Epoch: [0]  [  50/5005]  eta: 1:10:02  lr: 0.5  img/s: 320.0  loss: 6.9531 (6.9674)  acc1: 0.00 (0.16)  time: 0.1811  data: 0.0002  max mem: 8150", 50, .4, nan, 6.9531},
	} {
		tested[tc.pattern] = true
		p, err := launch.NewParser(data.Metrics{Pattern: tc.pattern})
		if err != nil {
			t.Fatal(err)
		}
		o, ok, err := launch.ParserFor(p, config).Parse(tc.line)
		if err != nil || !ok {
			t.Errorf("%s: %q: read %v, %v", tc.pattern, tc.line, ok, err)
			continue
		}
		for _, v := range []struct {
			name      string
			got, want float64
		}{{"step", o.Step, tc.step}, {"step time", o.StepTime, tc.time}, {"throughput", o.Throughput, tc.rate}, {"loss", o.Loss, tc.loss}} {
			if !(math.Abs(v.got-v.want) < 1e-9) && !(math.IsNaN(v.got) && math.IsNaN(v.want)) {
				t.Errorf("%s: %s = %g, want %g, of %q", tc.pattern, v.name, v.got, v.want, tc.line)
			}
		}
		for _, other := range []string{"", "INFO starting training on 4 workers", "Test: [  10/196]  Time  0.1 ( 0.2)  Loss 1.0 (1.0)", "Total img/sec on 4 GPU(s): 1249.6 +-3.2",
			"  0%|          | 0/100 [00:00<?, ?it/s]", "Downloading: 100%|██| 256M/256M [00:02<00:00, 98.2MB/s]", "Map: 100%|██| 1000/1000 [00:00<00:00, 12345.67 examples/s]"} {
			if _, ok, err := p.Parse(other); ok || err != nil {
				t.Errorf("%s: %q was taken for a step (%v)", tc.pattern, other, err)
			}
		}
	}
	for _, name := range data.MetricPatterns() {
		if !tested[name] {
			t.Errorf("no line of %s is tested", name)
		}
	}
	if !slices.IsSorted(data.MetricPatterns()) {
		t.Error("the patterns are not in order")
	}
	if _, err := launch.NewParser(data.Metrics{Pattern: "caffe"}); err == nil {
		t.Error("an unknown pattern was accepted")
	}
}

func TestWorkerThroughput(t *testing.T) {
	p, err := launch.NewParser(data.Metrics{Regex: `(?P<worker_throughput>\d+)/s`})
	if err != nil {
		t.Fatal(err)
	}
	if o, ok, err := launch.ParserFor(p, data.Config{Workers: 8, LocalBatch: 32}).Parse("320/s"); !ok || err != nil || o.StepTime != .1 {
		t.Errorf("%+v, %v, %v; want 0.1 s", o, ok, err)
	}
	if o, _, err := launch.ParserFor(p, data.Config{Workers: 8}).Parse("320/s"); err != nil || !math.IsNaN(o.StepTime) {
		t.Errorf("%+v, %v; want no step time where no batch is known", o, err)
	}
}

func TestLightningLeavesValidationOut(t *testing.T) {
	p, err := launch.NewParser(data.Metrics{Pattern: "lightning"})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := p.Parse("Validation DataLoader 0:  50%|█████     | 5/10 [00:00<00:00, 80.00it/s]"); ok {
		t.Error("a step of validation was taken for one of training")
	}
}

// Output that the study does not read is quoted, with the pattern that would
// read it.
func TestUnread(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"[worker 0] loading\n\r[worker 0]  10%|█ | 10/100 [00:05<00:45, 2.0it/s]\r": `in 2 lines such as "10%|█ | 10/100 [00:05<00:45, 2.0it/s]"; metrics: {pattern: tqdm} in the study would read`,
		"[worker 1] ep 3 27.4 batches per second\n":                                 `in 1 lines such as "ep 3 27.4 batches per second"; if such lines report steps, describe them by metrics: {regex: …}`,
	} {
		log := filepath.Join(t.TempDir(), "trial.log")
		if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := launch.Unread(log); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := launch.Unread(filepath.Join(t.TempDir(), "none")); got != "" {
		t.Errorf("a log that is not there: %q", got)
	}
}
