package data_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"knee/data"
)

// Output of spreadsheets and other programs is read without any of knee's
// column names.
func TestImport(t *testing.T) {
	im := data.Import{Columns: map[string]string{"gpus": "workers", "samples": "throughput", "Batch/GPU": "local_batch", "note": "x_note"}, Given: map[string]string{"job": "gpt"}}
	for name, table := range map[string]string{
		"commas":     "gpus,Batch/GPU,gpu_type,samples,price_per_hour,note\n8,4,A100,64 samples/s,$3.5,a\n",
		"semicolons": "gpus;Batch/GPU;gpu_type;samples;price_per_hour;note\r\n8;4,0;a100;64,0;3,5;a\r\n",
		"tabs":       "gpus\tBatch/GPU\tgpu_type\tsamples\tprice_per_hour\tnote\n8\t4\tA100\t64\t3.5\ta\n",
	} {
		ms, warnings, err := im.Read(strings.NewReader(table), "f")
		want := []data.Measurement{{Config: data.Config{Job: "gpt", GPUType: "a100", Mode: data.AllReduce, Workers: 8, LocalBatch: 4,
			Extra: map[string]string{"note": "a"}}, StepTime: 0.5, Status: data.OK, PricePerHour: 3.5, Source: data.Source{File: "f", Line: 2}}}
		if diff := cmp.Diff(want, ms); diff != "" || err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, warnings %q (-want +got):\n%s", name, err, warnings, diff)
		}
	}
	for cell, want := range map[string]float64{"78.6 ms": 0.0786, "78.6ms": 0.0786, "1 min": 60, "250 µs": 250e-6, "2e-1s": 0.2} {
		ms, _, err := data.ReadMeasurements(strings.NewReader("job,workers,step_time_s\na,1,"+cell+"\n"), "f")
		if err != nil || math.Abs(ms[0].StepTime-want) > 1e-12 {
			t.Errorf("%s: %+v, %v, want %g s", cell, ms, err, want)
		}
	}
	ms, warnings, err := data.ReadMeasurements(strings.NewReader("job,workers,local_batch,step_time_ms\na,1,8,40\na,2,,50\n"), "f")
	if err != nil || ms[1].StepTime != 0.05 || len(warnings) != 1 || !strings.Contains(warnings[0], "1 of 2 rows have neither local_batch nor global_batch") {
		t.Errorf("%+v, %q, %v", ms, warnings, err)
	}
}

// Spreadsheets of several countries write thousands and column names their own
// way; lines above the header are counted.
func TestImportSpreadsheets(t *testing.T) {
	im := data.Import{Columns: map[string]string{"GPUs": "workers"}}
	for name, above := range map[string]string{"excel": "sep=;\n", "comments": "# run 1 \"a\n# " + strings.Repeat("long ", 30000) + "\n", "nothing": ""} {
		for _, rate := range []string{"1'234,5", "1’234,5", "1 234,5", "1\u00a0234,5", "1\u202f234,5", "1.234,5", "1234,5 samples/s"} {
			ms, _, err := im.Read(strings.NewReader(above+"JOB;GPUs;Local_Batch;Throughput;x_Size\na;4;many;"+rate+";7\n"), "f")
			if err == nil {
				t.Fatalf("%s: many samples: %+v", name, ms)
			}
			if line := strings.Count(above, "\n") + 2; !strings.HasPrefix(err.Error(), fmt.Sprintf("f:%d:local_batch", line)) {
				t.Errorf("%s: %v, want line %d", name, err, line)
			}
			ms, warnings, err := im.Read(strings.NewReader(above+"JOB;GPUs;Local_Batch;Throughput;x_Size\na;4;2469;"+rate+";7\n"), "f")
			if err != nil || len(warnings) > 0 || math.Abs(ms[0].StepTime-8) > 1e-9 || ms[0].Extra["Size"] != "7" {
				t.Errorf("%s, %s: %+v, %q, %v", name, rate, ms, warnings, err)
			}
		}
	}
	if _, _, err := im.Read(strings.NewReader("job,Job,GPUs,step_time_s\na,b,1,1\n"), "f"); err != nil {
		t.Error("columns that differ in case:", err)
	}
}

// A table of tokens/s is one of step times only with the tokens of a sample.
func TestImportTokens(t *testing.T) {
	const head = "job,workers,local_batch,seq_len,"
	for table, want := range map[string]float64{
		head + "tokens_per_s\na,2,4,1000,20000 tok/s\n":         0.4,
		head + "worker_tokens_per_s\na,2,4,1000,10000\n":        0.4,
		"job,workers,local_batch,worker_throughput\na,2,4,10\n": 0.4,
	} {
		ms, _, err := data.ReadMeasurements(strings.NewReader(table), "f")
		if err != nil || math.Abs(ms[0].StepTime-want) > 1e-12 {
			t.Errorf("%s: %+v, %v, want %g s", table, ms, err, want)
		}
	}
	given := data.Import{Given: map[string]string{"job": "a", "seq_len": "1000", "gpu_type": "NVIDIA GB200"}}
	ms, _, err := given.Read(strings.NewReader("workers,local_batch,tokens_per_s\n2,4,20000\n"), "f")
	if err != nil || ms[0].StepTime != 0.4 || ms[0].Job != "a" || ms[0].GPUType != "gb200" {
		t.Errorf("%+v, %v", ms, err)
	}
	for table, want := range map[string]string{
		"workers,gpu_type,step_time_s\n1,t4,1\n":          `f:1:gpu_type: found the column, and "NVIDIA GB200" for all rows, want one of them`,
		"workers,local_batch,throughput\n1,4,100 tok/s\n": `f:2:throughput: found "100 tok/s", want samples/s > 0`,
	} {
		if _, _, err := given.Read(strings.NewReader(table), "f"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", table, err, want)
		}
	}
	ms, _, err = data.ReadMeasurements(strings.NewReader("job,workers,step_time_s,status\na,1,,OOM\n"), "f")
	if err != nil || ms[0].Status != data.OOM {
		t.Errorf("a status in capitals: %+v, %v", ms, err)
	}
	_, _, err = data.ReadMeasurements(strings.NewReader("job,workers,local_batch,tokens_per_s\na,1,4,100\n"), "f")
	if err == nil || !strings.Contains(err.Error(), "with seq_len, the tokens of a sample") {
		t.Errorf("tokens without seq_len: %v", err)
	}
}

// A table of runs, as experiment trackers export it: states in their words, and
// accumulation that counts all micro-steps. 4 workers × 2 × 8 samples at 128/s
// take half a second.
func TestImportRuns(t *testing.T) {
	im := data.Import{Given: map[string]string{"job": "a"}, Columns: map[string]string{"State": "status", "gradient_accumulation_steps": "micro_steps"}}
	const head = "State,workers,local_batch,gradient_accumulation_steps,throughput\n"
	ms, _, err := im.Read(strings.NewReader(head+"finished,4,2,8,128\ncrashed,4,2,8,128\ncrashed,4,2,8,\nkilled,4,2,8,\nOUT_OF_MEMORY,4,2,8,\nOUT_OF_ME+,4,2,8,\nCANCELLED by 1000,4,2,8,\nNODE_FAIL,4,2,8,\nDEADLINE,4,2,8,\n"), "f")
	want := []data.Status{data.OK, data.OK, data.Failed, data.Aborted, data.OOM, data.OOM, data.Aborted, data.Failed, data.Timeout}
	if err != nil || len(ms) != len(want) {
		t.Fatalf("%+v, %v", ms, err)
	}
	for i, m := range ms {
		if m.Status != want[i] || m.AccumSteps != 7 || (m.Status == data.OK) != (m.StepTime == 0.5) {
			t.Errorf("row %d: %+v, want %s, 7 further micro-steps and 0.5 s if ok", i, m, want[i])
		}
	}
	for table, want := range map[string]string{
		head + "finished,4,2,8,\n":  "f:2:throughput: found nothing, want seconds > 0, since status is finished",
		head + ",4,2,8,\n":          "f:2:status: found neither status nor throughput, want one of them; --columns NAME=status",
		head + "finished,4,2,0,9\n": `f:2:micro_steps: found "0", want a whole number`,
	} {
		if _, _, err := im.Read(strings.NewReader(table), "f"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", table, err, want)
		}
	}
	both := "job,workers,local_batch,global_batch,micro_steps,accum_steps,step_time_s\n"
	if ms, _, err := data.ReadMeasurements(strings.NewReader(both+"a,4,2,64,8,7,1\n"), "f"); err != nil || ms[0].AccumSteps != 7 {
		t.Errorf("both: %+v, %v", ms, err)
	}
	if _, _, err := data.ReadMeasurements(strings.NewReader(both+"a,4,2,64,7,7,1\n"), "f"); err == nil || !strings.Contains(err.Error(), "f:2:micro_steps: found 7, want 8, one more than accum_steps") {
		t.Errorf("contradiction: %v", err)
	}
}

// Thousands and decimals are distinguished by the rest of the file, or not at all.
func TestImportMarks(t *testing.T) {
	for table, want := range map[string]float64{
		"job;workers;local_batch;throughput\na;1;4;788.611\na;2;4;1.445.390\n":               788611,
		"job,workers,local_batch,throughput\na,1,4,\"788,611\"\na,2,4,\"1,445,390 img/s\"\n": 788611,
		"job;workers;local_batch;throughput\na;1;4;1.024,5\n":                                1024.5,
		"job;workers;local_batch;throughput\na;1;4;1.024\na;1;4;0.5\n":                       1.024,
		"job\tworkers\tlocal_batch\tthroughput\na\t1\t4\t1,25\n":                             1.25,
	} {
		ms, _, err := data.ReadMeasurements(strings.NewReader(table), "f")
		if err != nil || math.Abs(ms[0].Throughput()-want) > 1e-9*want {
			t.Errorf("%s: %+v, %v, want %g samples/s", table, ms, err, want)
		}
	}
	for table, want := range map[string]string{
		"job;workers;local_batch;throughput\na;1;4;788.611\na;1;4;900.374\n": `f:2:throughput: found "788.611", want an unambiguous number`,
		"job;workers;step_time_s;memory\na;1;1.024;32,4 GB\n":                `f:2:step_time_s: found "1.024", want the decimal mark ",", as in line 2`,
	} {
		if _, _, err := data.ReadMeasurements(strings.NewReader(table), "f"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", table, err, want)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	for want, columns := range map[string]map[string]string{
		`f:1:gpu: found columns workers, gpus, step_time_s, want a column of that name (did you mean "gpus"?)`: {"gpu": "ps"},
		`f:1:gpus: found a column workers too, want one column that is workers`:                                {"gpus": "workers"},
		`--columns: found "tokens/s/gpu=worker_throughput", want worker_tokens_per_s, with seq_len`:            {"tokens/s/gpu": "worker_throughput"},
		`--columns: found "grad_accum=accum_steps", want micro_steps where 1 means no accumulation`:            {"grad_accum": "accum_steps"},
		`--columns: found "gpus=worker", want a column of measurements.csv (did you mean "workers"?): `:        {"gpus": "worker"},
	} {
		_, _, err := data.Import{Columns: columns, Given: map[string]string{"job": "a"}}.Read(strings.NewReader("workers,gpus,step_time_s\n1,1,1\n"), "f")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v:\n got %v\nwant %s", columns, err, want)
		}
	}
}

// Of a configuration that was measured very often, rows are chosen evenly from
// the whole file, and others are all kept.
func TestImportThinsRepeats(t *testing.T) {
	var b strings.Builder
	b.WriteString("job,workers,local_batch,step_time_s,status\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "a,1,8,%d,ok\n", i+1)
	}
	b.WriteString("a,2,8,1,ok\na,1,8,,oom\n")
	ms, warnings, err := data.Import{Repeats: 100}.Read(strings.NewReader(b.String()), "m.csv")
	if err != nil || len(ms) != 102 {
		t.Fatalf("%d rows, %v", len(ms), err)
	}
	late := 0
	for _, m := range ms[:100] {
		if m.Source.Line > 501 {
			late++
		}
	}
	if late < 30 || late > 70 { // four standard deviations of a fair choice
		t.Errorf("%d of 100 rows are from the second half", late)
	}
	if len(warnings) != 1 || warnings[0] != "m.csv: of 1002 rows 102 are used, at most 100 of each configuration, chosen at random" {
		t.Errorf("warnings %q", warnings)
	}
}

// A row has its speed in any of the columns that give it.
func TestSpeedsInDifferentColumns(t *testing.T) {
	ms, _, err := data.ReadMeasurements(strings.NewReader("job,workers,local_batch,step_time_s,steps_per_s,status\na,2,4,,5,\na,4,4,0.25,,\na,8,4,,,oom\n"), "f")
	if err != nil || ms[0].StepTime != .2 || ms[1].StepTime != .25 || ms[2].Status != data.OOM {
		t.Errorf("%+v, %v", ms, err)
	}
}

// A number is the same knob however it is written; a file with decimal commas has them in
// knobs too.
func TestImportKnobs(t *testing.T) {
	for table, want := range map[string]string{
		"job;workers;step_time_s;x_lr\na;1;0,5;0,25\n":                   "0.25",
		"job;workers;step_time_s;x_lr\na;1;0,5;sgd, 2.1.0\n":             "sgd, 2.1.0",
		"job,workers,step_time_s,x_lr\na,1,0.5,128.0\n":                  "128",
		"job,workers,step_time_s,x_lr\na,1,0.5,1e-3\n":                   "0.001",
		"job,workers,step_time_s,x_lr\na,1,0.5,\"1,2\"\n":                "1,2",
		"job\tworkers\tstep_time_s\tx_lr\na\t1\t0.5\t1e999\n":            "1e999",
		"job;workers;throughput;local_batch;x_lr\na;1;1.024,5;4;1.024\n": "1024",
	} {
		ms, warnings, err := data.ReadMeasurements(strings.NewReader(table), "f")
		if err != nil || len(warnings) > 0 || ms[0].Extra["lr"] != want {
			t.Errorf("%s: %+v, %q, %v, want %s", table, ms, warnings, err, want)
		}
	}
	of := func(lr string) string { return data.Config{Workers: 1, Extra: map[string]string{"lr": lr}}.Key() }
	if of("0.10") != of("1e-1") || of("sgd") == of("adam") {
		t.Error("keys of equal numbers differ, or of words agree")
	}
}

// The share of a worker of a global batch may be rounded; the global batch is not.
func TestImportRoundedLocalBatch(t *testing.T) {
	ms, _, err := data.ReadMeasurements(strings.NewReader("job,workers,local_batch,global_batch,step_time_s\na,3,42.667,128,1\n"), "f")
	if err != nil || ms[0].GlobalBatch() != 128 {
		t.Errorf("%+v, %v, want a global batch of 128", ms, err)
	}
}
