package data_test

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"

	"knee/data"
)

const layoutHeader = "job,gpu_type,workers,local_batch,accum_steps,step_time_s,status,tp,pp,sharding,recompute,peak_memory_bytes,layers,heads,hidden,seq_len"

// The local batch is per replica, not per worker; rows are written as they were
// read.
func TestLayoutColumns(t *testing.T) {
	ms, warnings, err := data.ReadMeasurements(strings.NewReader(layoutHeader+"\ngpt,a100,16,4,3,1.5,ok,4,2,zero1,full,38.5 GiB,24,16,1024,2048\n"), "m.csv")
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	m := ms[0]
	if m.Replicas() != 2 || m.GlobalBatch() != 32 || m.PeakMemory != 38.5*(1<<30) || m.Layers != 24 {
		t.Errorf("replicas %d, global batch %g, peak %g, layers %d; want 2, 32, 38.5 GiB, 24", m.Replicas(), m.GlobalBatch(), m.PeakMemory, m.Layers)
	}
	if want := "16 × a100, allreduce, batch 4, accumulation 3, tp 4, pp 2, zero1, recompute full"; m.Config.String() != want {
		t.Errorf("%q, want %q", m.Config.String(), want)
	}
	var b bytes.Buffer
	if err := data.WriteMeasurements(&b, ms); err != nil {
		t.Fatal(err)
	}
	again, _, err := data.ReadMeasurements(&b, "again.csv")
	if err != nil || again[0].Key() != m.Key() || again[0].Architecture != m.Architecture || again[0].PeakMemory != m.PeakMemory {
		t.Errorf("read back %+v, %v", again, err)
	}
}

// A row with the default layout beside rows with a layout stays known when read
// back.
func TestPlainRowAmongLayouts(t *testing.T) {
	row := func(l data.Layout) data.Measurement {
		return data.Measurement{Config: data.Config{Job: "gpt", Workers: 4, Mode: data.AllReduce, LocalBatch: 1, Layout: l}, Status: data.OK, StepTime: 1}
	}
	ms := []data.Measurement{row(data.Layout{}), row(data.Layout{TP: 2}), row(data.Layout{Unknown: true})}
	var b bytes.Buffer
	if err := data.WriteMeasurements(&b, ms); err != nil {
		t.Fatal(err)
	}
	again, _, err := data.ReadMeasurements(&b, "again.csv")
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range again {
		if m.Layout.Unknown != ms[i].Layout.Unknown || m.Get("tp") != ms[i].Get("tp") {
			t.Errorf("row %d is read back as %+v, was %+v", i, m.Layout, ms[i].Layout)
		}
	}
}

// 1 is the default of degrees and none of words: they give the same
// configuration.
func TestLayoutDefaultsMakeNoDifference(t *testing.T) {
	plain := data.Config{Workers: 4}
	spelt := data.Config{Workers: 4, Layout: data.Layout{TP: 1, PP: 1}}
	for name, text := range map[string]string{"sharding": "none", "recompute": "none", "offload": "none"} {
		if want := spelt.Layout.Set(name, text); want != "" {
			t.Error(want)
		}
	}
	if plain.Key() != spelt.Key() || !spelt.Plain() {
		t.Errorf("keys %q and %q differ", plain.Key(), spelt.Key())
	}
}

// Stages of ZeRO and strategies of FSDP are understood in a table.
func TestShardingElsewhere(t *testing.T) {
	for word, want := range map[string]string{"FULL_SHARD": "zero3", "ZeRO-1": "zero1", "2": "zero2", "hybrid_shard": "hybrid", "0": "", "NO_SHARD": ""} {
		ms, _, err := data.ReadMeasurements(strings.NewReader("job,workers,tp,sharding,step_time_s\ngpt,8,2,"+word+",1\n"), "m.csv")
		if err != nil || ms[0].Sharding != want {
			t.Errorf("%s: %q, %v; want %q", word, ms[0].Sharding, err, want)
		}
	}
}

func TestLayoutErrors(t *testing.T) {
	for row, want := range map[string]string{
		"gpt,a100,10,4,0,1,ok,4,2,,,,,,,":                    "m.csv:2:workers: found 10, want a multiple of tp × pp × cp, which is 8",
		"gpt,a100,16,4,0,1,ok,1,32,,,,24,16,1024,2048":       "m.csv:2:workers: found 16, want a multiple of tp × pp × cp, which is 32",
		"gpt,a100,64,4,0,1,ok,1,32,,,,24,16,1024,2048":       "m.csv:2:pp: found 32, want at most the 24 layers of the model",
		"gpt,a100,64,4,0,1,ok,32,1,,,,24,16,1024,2048":       "m.csv:2:tp: found 32, want at most the 16 attention heads of the model",
		"gpt,a100,16,4,0,1,ok,4,2,stage2,,,,,,":              `m.csv:2:sharding: found "stage2", want one of none, zero1, zero2, zero3, hybrid`,
		"gpt,a100,16,4,0,1,ok,4,0,,,,,,,":                    `m.csv:2:pp: found "0", want a whole number from 1`,
		"gpt,a100,16,4,0,1,ok,4,2,,,38,,,,":                  "want bytes, at least a MiB, or a number with a unit such as 40 GiB or 43 GB",
		"gpt,a100,16,4,0,1,ok,,,,,38.5 gigabytes,24,16,64,8": "want bytes",
	} {
		_, _, err := data.ReadMeasurements(strings.NewReader(layoutHeader+"\n"+row+"\n"), "m.csv")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", row, err, want)
		}
	}
	_, _, err := data.ReadMeasurements(strings.NewReader("job,workers,tp,dp,step_time_s\ngpt,8,2,8,1\n"), "m.csv")
	if want := "m.csv:2:dp: found 8, want workers / (tp × pp × cp), which is 4"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	_, _, err = data.ReadMeasurements(strings.NewReader("job,workers,mode,ps,tp,step_time_s\ngpt,8,ps-sync,2,2,1\n"), "m.csv")
	if want := "modelled without parameter servers"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Experts multiply the feed-forward layers, 8·l·h² of 12·l·h² parameters, and
// expert parallelism divides them.
func TestExperts(t *testing.T) {
	a := data.Architecture{Layers: 32, Hidden: 4096, Experts: 8}
	lh2 := 32 * 4096. * 4096
	if want := lh2 * (4 + 64 + 13/4096.); math.Abs(a.Count()/want-1) > 1e-12 || math.Abs(a.InExperts()/(64*lh2/want)-1) > 1e-12 {
		t.Errorf("%g parameters, %g of them in experts; want %g, %g", a.Count(), a.InExperts(), want, 64*lh2/want)
	}
	for ep, wanted := range map[int]string{8: "", 3: "a divisor of the 8 experts of the model", 16: "a divisor of the 8 experts of the model"} {
		column, found, want := data.Layout{EP: ep}.Check(48, data.AllReduce, a)
		if want != wanted || want != "" && (column != "ep" || found != strconv.Itoa(ep)) {
			t.Errorf("ep %d: %s %s, want %q; expected %q", ep, column, found, want, wanted)
		}
	}
}
