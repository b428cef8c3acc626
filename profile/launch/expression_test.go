package launch

import (
	"math"
	"testing"

	"knee/data"
)

// The expression drafted for a line reads the numbers of this and the next
// line.
func TestExpression(t *testing.T) {
	for _, tt := range []struct {
		line, next string
		want       Observation
	}{
		{"I1122 16:23:25.31 140235 train.py:88] [step 400] loss=0.5386, lr=1.0e-03, 34.51 steps/s, 2208.3 examples/s/device",
			"I1122 16:23:26.31 140235 train.py:88] [step 410] loss=0.5012, lr=1.0e-03, 36.00 steps/s, 2304.0 examples/s/device",
			Observation{Step: 410, StepTime: 1 / 36.0, Loss: 0.5012}},
		{"iter 120: loss 2.3914, 45.2 ms/step", "iter 9: loss 1.5, 50 ms/step", Observation{Step: 9, StepTime: 0.05, Loss: 1.5}},
		{"step_time: 12.5 ms, lr 0.1", "step_time: 50 ms, lr 0.1", Observation{Step: math.NaN(), StepTime: 0.05, Loss: math.NaN()}},
		{"Batch Time 0.25 s", "Batch Time 2 s", Observation{Step: math.NaN(), StepTime: 2, Loss: math.NaN()}},
		{`{"step": 7, "step_time_s": 0.5, "loss": 2}`, `{"step": 8, "step_time_s": 0.25, "loss": 2}`, Observation{Step: 8, StepTime: 0.25, Loss: 2}},
		{`{"step": 7, "step_time": 0.5}`, `{"step": 8, "step_time": 0.25}`, Observation{Step: 8, StepTime: 0.25, Loss: math.NaN()}},
		{"iter 7 loss=1.5 step_time=0.5", "iter 8 loss=1.25 step_time=0.25", Observation{Step: 8, StepTime: 0.25, Loss: 1.25}},
		{"it 7 dt: 250ms", "it 8 dt: 500ms", Observation{Step: math.NaN(), StepTime: 0.5, Loss: math.NaN()}},
		{"Step: 7 | Loss: 1.25 | 512.5 samples/s", "Step: 8 | Loss: 1.5 | 256 samples/s", Observation{Step: 8, Loss: 1.5, Throughput: 256}},
		{"iter 0: loss 10.9, time 5532.3ms, mfu -100.00%", "iter 1: loss 10.5, time 135.25ms, mfu 37.5%", Observation{Step: 1, Loss: 10.5, StepTime: .13525}},
		{"step 1: data time 3 ms, step time 50 ms", "step 2: data time 3 ms, step time 25 ms", Observation{Step: 2, Loss: math.NaN(), StepTime: .025}},
		{"step=1 steps_per_sec=12.5 loss=2.5", "step=2 steps_per_sec=10 loss=2.25", Observation{Step: 2, Loss: 2.25, StepTime: .1}},
		{"step   9/2000 | loss 2.5 | step time   9.5 ms", "step 1000/2000 | loss 2.25 | step time 100.0 ms", Observation{Step: 1000, Loss: 2.25, StepTime: .1}},
		{"\t Train throughput/samples_per_sec: 640.0", "\t Train throughput/samples_per_sec: 512.0", Observation{Step: math.NaN(), Loss: math.NaN(), Throughput: 512}},
	} {
		expr := Expression(tt.line)
		p, err := NewParser(data.Metrics{Regex: expr})
		if err != nil {
			t.Errorf("%s: %q: %v", tt.line, expr, err)
			continue
		}
		got, ok, err := p.Parse(tt.next)
		same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
		if !ok || err != nil || !same(got.Step, tt.want.Step) || !same(got.Loss, tt.want.Loss) || math.Abs(got.StepTime-tt.want.StepTime) > 1e-12 && tt.want.StepTime > 0 ||
			tt.want.Throughput > 0 && got.Throughput != tt.want.Throughput {
			t.Errorf("%s: %q reads %+v, %t, %v, want %+v", tt.next, expr, got, ok, err, tt.want)
		}
	}
	p, err := NewParser(data.Metrics{Regex: Expression("\t Train throughput/samples_per_sec: 640.0")})
	if o, ok, _ := p.Parse("\t Train throughput/device/samples_per_sec: 80.0"); err != nil || ok {
		t.Errorf("%+v, %v: the rate of a device was read", o, err)
	}
	for _, line := range []string{"", "starting", "loss=2.5", "epoch 3 done in 12 s"} {
		if expr := Expression(line); expr != "" {
			t.Errorf("%q: %q, want none", line, expr)
		}
	}
}
