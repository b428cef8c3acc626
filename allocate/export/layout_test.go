package export

import (
	"errors"
	"strings"
	"testing"

	"knee/data"
)

// layoutJob is one job of 16 ranks: tensor parallelism over 4, pipelines of 2
// stages, 2 replicas. Its range of workers must not make it elastic.
func layoutJob(command ...string) data.Plan {
	return data.Plan{Version: data.PlanVersion, Jobs: []data.PlannedJob{{
		Name: "gpt", Action: data.Start, GPUType: "a100", Workers: 16, LocalBatch: 1, AccumSteps: 15,
		Layout:    data.Layout{TP: 4, PP: 2, Sharding: "zero1", Recompute: "full"},
		Range:     data.IntRange{Min: 8, Max: 32},
		Placement: []data.NodeShare{{Node: "a01", Workers: 8}, {Node: "a02", Workers: 8}},
		Template:  data.Template{Image: "megatron", Command: command},
	}}}
}

// Whoever starts the ranks is given one job of them all, with the layout in
// the command and in the environment.
func TestExportLayout(t *testing.T) {
	command := []string{"python", "train.py", "--tp={{.TP}}", "--pp={{.PP}}", "--global={{.GlobalBatch}}", "--zero={{.ShardingStage}}", `{{if eq .Recompute "none"}}--fast{{end}}`}
	for target, ranks := range map[string]string{
		"torchrun": "--nnodes=2 --nproc-per-node=8", "slurm": "16", "pytorchjob": "replicas: 15", "trainjob": "numNodes: 2", "volcano": "minAvailable: 16", "jobset": "16", "mpijob": "16",
	} {
		e, err := New(target)
		if err != nil {
			t.Fatal(err)
		}
		files, err := e(layoutJob(command...))
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		var all strings.Builder
		for _, f := range files {
			all.Write(f.Data)
		}
		for _, want := range []string{"--tp=4", "--pp=2", "--global=32", "--zero=1", "KNEE_TP", "KNEE_SHARDING", "zero1", "KNEE_DP", "KNEE_RECOMPUTE", ranks} {
			if !strings.Contains(all.String(), want) {
				t.Errorf("%s lacks %q:\n%s", target, want, all.String())
			}
		}
		for _, not := range []string{"elasticPolicy", "--nnodes=1:", "--rdzv", "--fast", "''"} {
			if strings.Contains(all.String(), not) {
				t.Errorf("%s makes a spread model elastic (%s)", target, not)
			}
		}
	}
}

func TestExportRefusesBadTemplate(t *testing.T) {
	_, err := exporters()["torchrun"](layoutJob("python", "train.py", "--tp={{.TensorParallel}}"))
	var refusal *Refusal
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), `job "gpt": template:command[2]`) || !strings.Contains(err.Error(), "TensorParallel") {
		t.Errorf("err = %v", err)
	}
}
