package data_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"knee/data"
	"knee/internal/bench"
)

func ExampleReadMeasurements() {
	const table = `job,gpu_type,placement,global_batch,step_time_s,status,host
resnet,t4,4-2,192,0.25,ok,rack7
resnet,t4,4-4,1024,,oom,rack7
`
	ms, warnings, err := data.ReadMeasurements(strings.NewReader(table), "m.csv")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range ms {
		fmt.Printf("%v: %v, %.0f samples/s\n", m.Config, m.Status, m.Throughput())
	}
	fmt.Println(warnings[0])
	// Output:
	// 6 × t4 as 4-2, allreduce, batch 32: ok, 768 samples/s
	// 8 × t4 on 2 nodes, allreduce, batch 128: oom, 0 samples/s
	// m.csv: ignored unknown columns: host; --columns NAME=COLUMN reads one as another column, and one called x_NAME counts for the speed
}

func TestReadMeasurements(t *testing.T) {
	const table = "\ufeffjob,gpu_type,mode,placement,nodes,workers,ps,local_batch,global_batch,accum_steps,step_time_s,sync_time_s," +
		"step_time_sd_s,step_time_se_s,steps,status,error,price_per_hour,wall_s,start_seconds,started_at,x_lr,x_net,\r\n" +
		"a,a100,allreduce,4-2,,,,8,96,1,0.5,0.1,0.01,0.004,20,ok,,3.5,60,7.5,2025-03-01T13:00:00+01:00,0.1,ib,0\r\n" +
		"a,cpu,ps-async,,,3.0,2,,10,,2,,,,,,,,,,,,,1\r\n" +
		",,,,,,,,,,,,,,,,,,,,,,,\r\n" +
		"b,cpu,,,2,4,,,,,,,,,,oom,\"CUDA out\nof memory\",,,,,,,2\r\n\r\n\r\n"
	ms, warnings, err := data.ReadMeasurements(strings.NewReader(table), "m.csv")
	if err != nil {
		t.Fatal(err)
	}
	want := []data.Measurement{
		{
			Config: data.Config{Job: "a", GPUType: "a100", Mode: data.AllReduce, Placement: data.Placement{4, 2}, Nodes: 2, Workers: 6,
				LocalBatch: 8, AccumSteps: 1, Extra: map[string]string{"lr": "0.1", "net": "ib"}},
			StepTime: 0.5, SyncTime: 0.1, StepTimeSD: 0.01, StepTimeSE: 0.004, Steps: 20, Status: data.OK, PricePerHour: 3.5, Wall: 60, StartSeconds: 7.5,
			StartedAt: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC), Source: data.Source{File: "m.csv", Line: 2},
		},
		{
			// The share of a worker of a fixed global batch may be fractional.
			Config:   data.Config{Job: "a", GPUType: "cpu", Mode: data.PSAsync, Workers: 3, PS: 2, LocalBatch: 10.0 / 3},
			StepTime: 2, Status: data.OK, Source: data.Source{File: "m.csv", Line: 3},
		},
		{
			Config: data.Config{Job: "b", GPUType: "cpu", Mode: data.AllReduce, Nodes: 2, Workers: 4},
			Status: data.OOM, Error: "CUDA out of memory", Source: data.Source{File: "m.csv", Line: 5},
		},
	}
	if diff := cmp.Diff(want, ms); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"m.csv:x_lr: found nothing in 1 of 2 rows of a, want a number without a unit, as in 1 of 2 rows; with it all values of the knob are words, which have no order",
		"m.csv: ignored unknown columns: column 24 (no name); --columns NAME=COLUMN reads one as another column, and one called x_NAME counts for the speed"}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestReadMeasurementsWarnings(t *testing.T) {
	const table = "job,gpu_type,workers,step_time_s,sync_time_s,setp_time_sd_s,host\na,t4,1,1,2,,\na,,2,1,0.5,,\n"
	_, warnings, err := data.ReadMeasurements(strings.NewReader(table), "m.csv")
	want := []string{
		`m.csv: ignored unknown columns: setp_time_sd_s (did you mean "step_time_sd_s"?), host; --columns NAME=COLUMN reads one as another column, and one called x_NAME counts for the speed`,
		"m.csv: sync_time_s exceeds step_time_s in 1 of 2 rows",
		"m.csv: 1 of 2 rows have no gpu_type; they count as one type more",
	}
	if diff := cmp.Diff(want, warnings); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestReadMeasurementsRefuses(t *testing.T) {
	const head = "job,workers,step_time_s\n"
	tests := []failure{
		{"empty", "", "f: found an empty file, want a CSV header row with column names"},
		{"no job", "workers,step_time_s\n", "f:1:job: found columns workers, step_time_s, want a column job, or --job NAME (of knee read or fit)"},
		{"no workers", "job,step_time_s\n", "f:1:workers: found columns job, step_time_s, want a column workers or placement, or --columns NAME=workers (of knee read or fit)"},
		{"no time", "job,workers\n", "f:1:step_time_s: found columns job, workers, want a column step_time_s, step_time_ms, steps_per_s, throughput, tokens_per_s, worker_throughput, worker_tokens_per_s, or status if no trial succeeded"},
		{"predictions", "job,workers,step_time_s,step_time_lo_s\n", "f:1: found the interval of a prediction, want measurements: what knee predicted was not measured"},
		{"twice", "job,workers,job\n", "f:1:job: found the column twice, want each column once"},
		{"ragged", head + "a,1\n", "f:2: found 2 cells, want 3, one for each column of the header"},
		{"quotes", head + "a,1,1\na,1\"2,1\n", `f:3: found bare " in non-quoted-field at byte 4, want comma-separated values, quoted with " where a cell holds a comma or a quote`},
		{"latin-1", head + "caf\xe9,1,1\n", `f:2:job: found "caf\xe9", want text in UTF-8`},
		{"job missing", head + ",1,1\n", "f:2:job: found nothing, want the name of what is trained"},
		{"word", head + "a,1,fast\n", `f:2:step_time_s: found "fast", want seconds > 0`},
		{"NaN", head + "a,1,NaN\n", `f:2:step_time_s: found "NaN", want seconds > 0`},
		{"Inf", head + "a,1,1\na,1,+Inf\n", `f:3:step_time_s: found "+Inf", want seconds > 0, at most 1000000000`},
		{"overflow", head + "a,1,1e999\n", `f:2:step_time_s: found "1e999", want seconds > 0, at most 1000000000`},
		{"decimal comma", head + "a,1,\"0,5\"\n", `f:2:step_time_s: found "0,5", want seconds > 0, with a decimal point and no other separator`},
		{"thousands", head + "a,\"1,024\",1\n", `f:2:workers: found "1,024", want a whole number from 1 to 1000000000, with a decimal point and no other separator`},
		{"comma in a word", head + "a,1,\"fast, very\"\n", `f:2:step_time_s: found "fast, very", want seconds > 0`},
		{"two decimal marks", "job;workers;step_time_s\na;1;0,5\na;2;1.024\n", `f:3:step_time_s: found "1.024", want the decimal mark ",", as in line 2`},
		{"short step", head + "a,1,1e-308\n", `f:2:step_time_s: found "1e-308", want seconds > 0, at least 1e-9`},
		{"tiny batch", "job,workers,local_batch,step_time_s\na,1,1e-9,1\n", `f:2:local_batch: found "1e-9", want samples > 0, at least 1e-6`},
		{"rate without batch", "job,workers,throughput\na,1,5\n", `f:2:throughput: found "5", want a local_batch or global_batch too, from which the step time follows (knee read --local-batch gives one for all rows)`},
		{"unit", head + "a,1,3 weeks\n", `f:2:step_time_s: found "3 weeks", want seconds > 0`},
		{"zero", head + "a,1,0\n", `f:2:step_time_s: found "0", want seconds > 0`},
		{"negative", head + "a,1,-1\n", `f:2:step_time_s: found "-1", want seconds > 0`},
		{"line after blank rows", head + "\n,,\n\na,0,1\n", `f:5:workers: found "0", want a whole number from 1 to 1000000000`},
		{"line after a wide cell", "job,workers,status,error\na,1,oom,\"x\ny\"\na,0,oom,\n", `f:4:workers: found "0", want a whole number from 1 to 1000000000`},
		{"half a worker", head + "a,1.5,1\n", `f:2:workers: found "1.5", want a whole number from 1 to 1000000000`},
		{"huge", head + "a,1e18,1\n", `f:2:workers: found "1e18", want a whole number from 1 to 1000000000`},
		{"no count", head + "a,,1\n", "f:2:workers: found neither workers nor placement, want one of them"},
		{"placement", "job,placement,step_time_s\na,4-x,1\n", `f:2:placement: found "4-x", want workers per node, such as 4-4-2`},
		{"sum", "job,placement,workers,step_time_s\na,4-2,5,1\n", "f:2:workers: found 5, want 6, the sum of placement 4-2"},
		{"nodes", "job,placement,nodes,step_time_s\na,4-2,3,1\n", "f:2:nodes: found 3, want 2, the nodes of placement 4-2"},
		{"workers of a node", "job,nodes,workers,step_time_s\na,16,8,1\n", "f:2:nodes: found 16, want at most one for each of 8 workers and 0 servers, all of the job"},
		{"batches", "job,workers,local_batch,global_batch,accum_steps,step_time_s\na,4,8,32,1,1\n",
			"f:2:global_batch: found 32, want 64, which is workers × local_batch × (accum_steps + 1)"},
		{"multiple", "job,workers,local_batch,global_batch,step_time_s\na,8,3,64,1\n",
			"f:2:global_batch: found 64, want a multiple of 24, which is workers × local_batch × (accum_steps + 1)"},
		{"tp", "job,workers,tp,local_batch,global_batch,step_time_s\na,16,3,1,64,1\n", "f:2:workers: found 16, want a multiple of tp × pp × cp, which is 3"},
		{"batch", "job,workers,global_batch,step_time_s\na,4,0,1\n", `f:2:global_batch: found "0", want samples > 0`},
		{"mode", "job,workers,mode,step_time_s\na,4,ps_sync,1\n", `f:2:mode: found "ps_sync" (did you mean "ps-sync"?), want allreduce, ps-sync or ps-async`},
		{"ps without mode", "job,workers,ps,step_time_s\na,4,2,1\n", "f:2:mode: found nothing, want ps-sync or ps-async, since ps is 2"},
		{"ps with allreduce", "job,workers,ps,mode,step_time_s\na,4,2,allreduce,1\n", "f:2:ps: found 2, want 0, since mode allreduce has no parameter servers"},
		{"mode without ps", "job,workers,mode,step_time_s\na,4,ps-async,1\n", "f:2:ps: found 0, want at least 1 parameter server, since mode is ps-async"},
		{"neither", "job,workers,step_time_s,status\na,4,,\n", "f:2:status: found neither status nor step_time_s, want one of them; --columns NAME=status names the column that says how a run ended"},
		{"ok without time", "job,workers,step_time_s,status\na,4,,ok\n", "f:2:step_time_s: found nothing, want seconds > 0, since status is ok"},
		{"oom with time", "job,workers,step_time_s,status\na,4,1,oom\n", `f:2:step_time_s: found "1", want an empty cell, since status is oom`},
		{"queued with time", "job,workers,step_time_s,status\na,4,1,queued\n", `f:2:step_time_s: found "1", want an empty cell, since status is queued`},
		{"standard error", "job,workers,step_time_s,step_time_se_s\na,4,1,-1\n", `f:2:step_time_se_s: found "-1", want seconds ≥ 0`},
		{"start", "job,workers,step_time_s,start_seconds\na,4,1,soon\n", `f:2:start_seconds: found "soon", want seconds ≥ 0`},
		{"status", "job,workers,step_time_s,status\na,4,,fail\n",
			`f:2:status: found "fail" (did you mean "failed"?), want one of ok, oom, infeasible, failed, timeout, queued, aborted`},
		{"sync", "job,workers,step_time_s,sync_time_s\na,4,1,-1\n", `f:2:sync_time_s: found "-1", want seconds ≥ 0`},
		{"time", "job,workers,step_time_s,started_at\na,4,1,today\n", `f:2:started_at: found "today", want a time such as 2025-03-01T12:00:00Z (RFC 3339)`},
		{"control", "job,workers,step_time_s\na\x1b[1m,4,1\n", `f:2:job: found "a\x1b[1m", want text on one line, without control characters or blanks around it`},
	}
	checkFailures(t, tests, errorOf(withoutWarnings(data.ReadMeasurements)))
}

func TestWriteMeasurements(t *testing.T) {
	ms := []data.Measurement{
		{Config: data.Config{Job: "a", Workers: 2, Extra: map[string]string{"b": "1"}}, StepTime: 0.5, Status: data.OK},
		{Config: data.Config{Job: "a", Workers: 4, Extra: map[string]string{"a": "x,y"}}, Status: data.Failed, Error: "one\r\ntwo", Wall: 3},
	}
	var b strings.Builder
	if err := data.WriteMeasurements(&b, ms); err != nil {
		t.Fatal(err)
	}
	want := `job,gpu_type,mode,workers,ps,local_batch,accum_steps,step_time_s,status,error,wall_s,x_a,x_b
a,,allreduce,2,0,,0,0.5,ok,,,,1
a,,allreduce,4,0,,0,,failed,one  two,3,"x,y",
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	ms[1].StepTime = 1
	wantErr := `write measurements: measurements:3:step_time_s: found "1", want an empty cell, since status is failed`
	if err := data.WriteMeasurements(&b, ms); err == nil || err.Error() != wantErr {
		t.Errorf("got %v, want %s", err, wantErr)
	}
}

func drawMeasurement(t *rapid.T) data.Measurement {
	text := rapid.StringMatching(`[A-Za-z"',;é=-]([A-Za-z"',;é= -]{0,6}[a-z"])?`)
	positive := rapid.Float64Range(1e-6, 1e9)
	m := data.Measurement{Config: data.Config{
		Job: text.Draw(t, "job"), GPUType: rapid.SampledFrom([]string{"", "a100", "t4"}).Draw(t, "gpu"),
		Mode: rapid.SampledFrom(data.Modes()).Draw(t, "mode"), AccumSteps: rapid.IntRange(0, 8).Draw(t, "accum"),
		Extra: rapid.MapOfN(text, text, 0, 3).Draw(t, "extra"),
	}}
	if rapid.Bool().Draw(t, "placed") {
		m.Placement = rapid.SliceOfN(rapid.IntRange(1, 16), 1, 6).Draw(t, "placement")
		m.Workers, m.Nodes = m.Placement.Workers(), len(m.Placement)
	} else {
		m.Workers = rapid.IntRange(1, 512).Draw(t, "workers")
	}
	if m.Mode.UsesPS() {
		m.PS = rapid.IntRange(1, 8).Draw(t, "ps")
	}
	if rapid.Bool().Draw(t, "batch") {
		m.LocalBatch = positive.Draw(t, "local")
	}
	m.Status = rapid.SampledFrom(data.Statuses()).Draw(t, "status")
	if m.Status == data.OK {
		m.StepTime, m.SyncTime = positive.Draw(t, "step"), positive.Draw(t, "sync")
	} else {
		m.Error = text.Draw(t, "error")
	}
	m.Steps = rapid.IntRange(0, 1000).Draw(t, "steps")
	if rapid.Bool().Draw(t, "dated") {
		m.StartedAt = time.Unix(0, rapid.Int64Range(1, 1<<62).Draw(t, "at")).UTC()
	}
	return m
}

func TestMeasurementsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.SliceOfN(rapid.Custom(drawMeasurement), 0, 5).Draw(t, "measurements")
		checkRoundTrip(t, ms, data.WriteMeasurements, withoutWarnings(data.ReadMeasurements))
	})
}

func FuzzReadMeasurements(f *testing.F) {
	f.Add("job,workers,step_time_s\na,1,0.5\n")
	f.Add("\ufeffjob,placement,status,x_lr,error\r\na,4-4-2,oom,0.1,\"x\ny\"\r\n")
	f.Add("job,workers,ps,mode,global_batch,step_time_s,started_at\na,3,1,ps-sync,50,1e-3,2025-03-01T13:00:00+23:59\n")
	f.Add("job,workers,local_batch,step_time_s,x_,x_a b,\na,3.0,0x1p4,1,1,2,3\n")
	f.Fuzz(func(t *testing.T, table string) {
		ms, _, err := data.ReadMeasurements(strings.NewReader(table), "f")
		if err == nil {
			checkRoundTrip(t, ms, data.WriteMeasurements, withoutWarnings(data.ReadMeasurements))
		}
	})
}

// Every measured table of the development benchmarks is read without a warning.
func TestBenchTables(t *testing.T) {
	dir := bench.Dir(t)
	tables, _ := filepath.Glob(filepath.Join(dir, "allreduce", "*.csv"))
	servers, _ := filepath.Glob(filepath.Join(dir, "ps", "*.csv"))
	curves, _ := filepath.Glob(filepath.Join(dir, "training", "*.csv"))
	if len(tables)+len(servers)+len(curves) == 0 {
		t.Skipf("no measured tables in %s", dir)
	}
	var problems []error
	for _, path := range append(tables, servers...) {
		ms, warnings, err := data.LoadMeasurements(path)
		if err != nil || len(warnings) > 0 || len(ms) == 0 {
			problems = append(problems, fmt.Errorf("%s: %d measurements, warnings %q, %w", path, len(ms), warnings, err))
		}
	}
	for _, path := range curves {
		points, warnings, err := data.LoadTable(path, data.ReadCurve)
		if err != nil || len(warnings) > 0 || len(points) == 0 {
			problems = append(problems, fmt.Errorf("%s: %d points, warnings %q, %w", path, len(points), warnings, err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		t.Error(err)
	}
}

// All wrong rows are counted and the first five located, for any kind of error.
func TestReadMeasurementsNamesSeveralErrors(t *testing.T) {
	text := "job,workers,step_time_s\na,1,0.1\n"
	for i := range 8 {
		text += []string{"a,x,0.1\n", "a,1\n", "a,1,-1\n", "a,1,0.2\n"}[i%4]
	}
	_, _, err := data.ReadMeasurements(strings.NewReader(text), "m.csv")
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{"m.csv:3:workers", "m.csv:4", "m.csv:5:step_time_s", "m.csv:7:workers", "m.csv:8", "m.csv: 6 rows are wrong; the first 5 are above"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Fatalf("line %d does not begin with %q:\n%v", i, want, err)
		}
	}
	if ie := (*data.InputError)(nil); !errors.As(err, &ie) || ie.Line != 3 {
		t.Errorf("the first error is %v", ie)
	}
}

// TestOneCardOneType: names of one card are one type.
func TestOneCardOneType(t *testing.T) {
	ms, warnings, err := data.ReadMeasurements(strings.NewReader(`job,gpu_type,workers,local_batch,step_time_s
a,NVIDIA H100 80GB HBM3,1,8,1
a,H100 SXM5 80GB,1,8,1
a,H100-SXM,1,8,1
`), "m.csv")
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	for _, m := range ms {
		if m.GPUType != "h100" {
			t.Errorf("%s is %q, want h100", m.Source, m.GPUType)
		}
	}
}

// TestContradictions: a peak that the card cannot hold and a throughput of another step
// time are warned of once each; rounding, and memory that the file gives, are not.
func TestContradictions(t *testing.T) {
	_, warnings, err := data.ReadMeasurements(strings.NewReader(`job,gpu_type,workers,local_batch,step_time_s,throughput,peak_memory_bytes,gpu_memory_bytes
a,a100,1,8,.1,79,50 GB,80 GiB
a,a100,4,8,.1,80,50 GB,
a,a100,8,8,.1,640,50 GB,
a,a100,16,8,.1,n/a,,
`), "m.csv")
	want := []string{
		"m.csv:3: peak_memory_bytes is above the 40 GiB of a100; gpu_type names another card, or gpu_memory_bytes says what it has",
		"m.csv:3: throughput means a step time of 0.4 s, step_time_s of 0.1 s, which is used",
	}
	if diff := cmp.Diff(want, warnings); diff != "" || err != nil {
		t.Errorf("%v, warnings (-want +got):\n%s", err, diff)
	}
}

// A row that is about a thousand times another that differs in workers is named;
// what the batch or a fixed global batch explains is not.
func TestOtherUnit(t *testing.T) {
	const head = "job,gpu_type,workers,local_batch,x_seq,step_time_s\n"
	for name, tc := range map[string]struct{ table, want string }{
		"milliseconds from line 3 on": {head + "a,t4,1,32,1,0.1\na,t4,2,32,1,110\na,t4,4,32,1,120\n",
			"f:3: a step of 2 × t4, allreduce, batch 32, seq 1 takes 110 s, 1.1e+03 times that of line 2, 1 × t4, allreduce, batch 32, seq 1: are both in one unit"},
		"seconds":         {head + "a,t4,1,32,1,0.1\na,t4,2,32,1,0.11\na,t4,64,32,1,3\n", ""},
		"a large batch":   {head + "a,t4,1,1,1,0.1\na,t4,1,1024,1,100\n", ""},
		"a fixed batch":   {head + "a,t4,1,,1,100\na,t4,1024,,1,0.1\n", ""},
		"another knob":    {head + "a,t4,1,32,1,0.1\na,t4,1,32,4096,110\n", ""},
		"another type":    {head + "a,t4,1,32,1,0.1\na,cpu,1,32,1,110\n", ""},
		"another job":     {head + "a,t4,1,32,1,0.1\nb,t4,1,32,1,110\n", ""},
		"many in between": {head + "a,t4,1,32,1,0.1\na,t4,2,32,1,3\na,t4,4,32,1,90\n", ""},
	} {
		_, warnings, err := data.ReadMeasurements(strings.NewReader(tc.table), "f")
		if text := strings.Join(warnings, "\n"); err != nil || (text == "") != (tc.want == "") || !strings.Contains(text, tc.want) {
			t.Errorf("%s: %q, %v; want …%s…", name, warnings, err, tc.want)
		}
	}
}

// A measurement that its trial doubted is doubted whenever it is read.
func TestDoubtedRows(t *testing.T) {
	const doubt = "its 3 step times add up to 30 s, but it took 0.04 s"
	table := "job,workers,local_batch,step_time_s,status,error\na,1,8,10,ok,\"" + doubt + "\"\na,2,8,,oom,out of memory\na,4,8,10,ok,\"" + doubt + "\"\n"
	ms, warnings, err := data.ReadMeasurements(strings.NewReader(table), "f")
	if want := "f:2: " + doubt + " (and 1 row more)"; err != nil || len(warnings) != 1 || warnings[0] != want || ms[0].Error != doubt {
		t.Errorf("%q, %v; want %q", warnings, err, want)
	}
}

// One value that is no number makes a knob words: it is named, and refused if it is NaN.
func TestWordsAmongNumbers(t *testing.T) {
	for _, c := range []struct{ cells, warning, failure string }{
		{"32 64 128", "", ""},
		{"sgd adam sgd", "", ""},
		{"nan adam sgd", "", ""},
		{"32 64px 128", `m.csv:3:x_width: found "64px", want a number without a unit, as in 2 of 3 rows`, ""},
		{"inf 64 auto", `m.csv:2:x_width: found "inf", want a number without a unit, as in 1 of 3 rows`, ""},
		{"auto 64 NaN", "", `m.csv:4:x_width: found "NaN", want a number without a unit, as in 1 of 3 rows`},
	} {
		text := "job,workers,step_time_s,x_width\n"
		for _, cell := range strings.Fields(c.cells) {
			text += "cnn,1,0.5," + cell + "\n"
		}
		_, warnings, err := data.ReadMeasurements(strings.NewReader(text), "m.csv")
		var failure string
		if err != nil {
			failure = err.Error()
		}
		if got := strings.Join(warnings, "; "); !strings.HasPrefix(got, c.warning) || c.warning == "" && got != "" || failure != c.failure {
			t.Errorf("%s: warnings %q, error %q; want %q and %q", c.cells, got, failure, c.warning, c.failure)
		}
	}
}
