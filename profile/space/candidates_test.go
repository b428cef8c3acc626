package space_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"knee/data"
	"knee/profile/space"
)

func knob(name string, values ...string) data.Knob { return data.Knob{Name: name, Values: values} }

func ranged(name string, min, max float64, scale string) data.Knob {
	return data.Knob{Name: name, Range: &data.Range{Min: min, Max: max, Scale: scale}}
}

func studyOf(knobs ...data.Knob) *data.Study {
	return &data.Study{Job: "job", Space: knobs, Source: data.Source{File: "study.yaml"}}
}

// sized gives the model of a study a number of attention heads.
func sized(s *data.Study, heads int) *data.Study {
	s.Model.Heads = heads
	return s
}

func TestCandidates(t *testing.T) {
	for _, tc := range []struct {
		name  string
		study *data.Study
		want  []string
	}{
		{"list and log range", studyOf(knob("workers", "1", "2"), ranged("local_batch", 16, 50, "log2")),
			[]string{"1 worker, allreduce, batch 16", "1 worker, allreduce, batch 32", "1 worker, allreduce, batch 50",
				"2 workers, allreduce, batch 16", "2 workers, allreduce, batch 32", "2 workers, allreduce, batch 50"}},
		{"all-reduce has no ps, a ps mode needs one", studyOf(knob("mode", "allreduce", "ps-sync"), knob("ps", "0", "1", "2")),
			[]string{"1 worker, allreduce", "1 worker, 1 ps, ps-sync", "1 worker, 2 ps, ps-sync"}},
		{"global batch is divided", studyOf(knob("workers", "1", "3"), knob("global_batch", "48"), knob("accum_steps", "1")),
			[]string{"1 worker, allreduce, batch 24, accumulation 1", "3 workers, allreduce, batch 8, accumulation 1"}},
		{"layouts that divide the workers", studyOf(knob("workers", "4", "6"), knob("tp", "1", "4"), knob("pp", "1", "2")),
			[]string{"4 workers, allreduce", "4 workers, allreduce, pp 2", "4 workers, allreduce, tp 4", "6 workers, allreduce", "6 workers, allreduce, pp 2"}},
		{"tensor parallelism that divides the heads", sized(studyOf(knob("workers", "4"), knob("tp", "1", "2", "4")), 6),
			[]string{"4 workers, allreduce", "4 workers, allreduce, tp 2"}},
		{"accumulation follows from both batches", studyOf(knob("workers", "4"), knob("tp", "1", "2"), knob("local_batch", "2", "8"), knob("global_batch", "16")),
			[]string{"4 workers, allreduce, batch 2, accumulation 1", "4 workers, allreduce, batch 2, accumulation 3, tp 2", "4 workers, allreduce, batch 8, tp 2"}},
		{"placement gives nodes and workers", studyOf(knob("placement", "4-2", "1"), knob("gpu_type", "a100")),
			[]string{"6 × a100 as 4-2, allreduce", "1 × a100, allreduce"}},
		{"more nodes than workers mean nothing", studyOf(knob("workers", "1", "2"), knob("nodes", "1", "2")),
			[]string{"1 worker, allreduce", "2 workers, allreduce", "2 workers on 2 nodes, allreduce"}},
		{"further knobs", studyOf(knob("depth", "2", "4")),
			[]string{"1 worker, allreduce, depth 2", "1 worker, allreduce, depth 4"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := space.Candidates(tc.study)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, c := range got {
				names = append(names, c.String())
			}
			if diff := cmp.Diff(tc.want, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConstraints(t *testing.T) {
	s := studyOf(knob("workers", "1", "2", "4"), knob("local_batch", "16", "32"), knob("depth", "2", "8"))
	s.Constraints = []string{"workers * local_batch <= 64", "depth < 8 || workers == 1"}
	got, err := space.Candidates(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got {
		if float64(c.Workers)*c.LocalBatch > 64 || c.Extra["depth"] == "8" && c.Workers != 1 {
			t.Errorf("%s violates a constraint", c)
		}
	}
	if len(got) != 7 { // depth 2: 1×16 1×32 2×16 2×32 4×16; depth 8: 1×16 1×32
		t.Errorf("%d candidates, want 7", len(got))
	}
}

// A knob with words and numbers is compared as words, also in parts of the objective.
func TestConstraintsOnWords(t *testing.T) {
	s := studyOf(knob("workers", "1", "2"), knob("bucket", "auto", "25"))
	s.Constraints = []string{`bucket == "auto" || workers > 1`}
	if got, err := space.Candidates(s); err != nil || len(got) != 3 {
		t.Errorf("%v, %v; want 3", got, err)
	}
	at, err := space.Condition(s, "at", map[string]string{"bucket": "25"})
	if err != nil || !at(data.Config{Workers: 1, Extra: map[string]string{"bucket": "25"}}) || at(data.Config{Workers: 1, Extra: map[string]string{"bucket": "auto"}}) {
		t.Errorf("bucket: 25: %v", err)
	}
}

// GPU types in constraints may be spelt as in the study.
func TestConstraintsFoldGPUTypes(t *testing.T) {
	for text, want := range map[string]int{
		`gpu_type == "V100-SXM2-16GB"`: 1, `"v100-sxm2-16gb" != gpu_type`: 1, `gpu_type in ["Tesla T4", "V100"]`: 2,
		`gpu_type not in ["V100-SXM2-16GB"]`: 1, `card == "V100-SXM2-16GB"`: 2,
	} {
		s := studyOf(knob("gpu_type", "v100", "t4"), knob("card", "V100-SXM2-16GB"))
		s.Constraints = []string{text}
		if got, err := space.Candidates(s); err != nil || len(got) != want {
			t.Errorf("%s: %v, %v; want %d", text, got, err, want)
		}
	}
}

// A batch is a real number in expr; % works on it.
func TestRemainder(t *testing.T) {
	s := studyOf(knob("workers", "2", "4"), knob("local_batch", "8", "12", "16"))
	s.Constraints = []string{"local_batch % 8 == 0", "global_batch % workers == 0", "workers % 4 == 0", "8 % local_batch >= 0"}
	got, err := space.Candidates(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].LocalBatch != 8 || got[1].LocalBatch != 16 || got[0].Workers != 4 {
		t.Errorf("candidates %v, want batches 8 and 16 on 4 workers", got)
	}
}

func TestCandidatesRefuse(t *testing.T) {
	two := knob("workers", "1", "2")
	for _, tc := range []struct {
		name       string
		study      *data.Study
		constraint string
		want       string
	}{
		{"excludes everything", studyOf(two), "workers > 2", `study.yaml:constraints[0]: found constraints that exclude all 2 configurations ("workers > 2" alone excludes 2)`},
		{"not an expression", studyOf(two), "workers >", `study.yaml:constraints[0]: found "workers >"`},
		{"unknown knob", studyOf(two), "wrokers < 2", "unknown name wrokers"},
		{"no condition", studyOf(two), "workers + 1", "constraints[0]"},
		{"not a number", studyOf(knob("workers", "many")), "", `found "many", want a whole number from 1`},
		{"unknown mode", studyOf(knob("mode", "ring")), "", `found "ring", want allreduce, ps-sync or ps-async`},
		{"no ps", studyOf(knob("mode", "ps-sync")), "", "ps ≥ 1 with a parameter-server mode"},
		{"too many", studyOf(ranged("a", 1, 1000, ""), ranged("b", 1, 1000, "")), "", "more than 100000 configurations"},
		{"upside down", studyOf(ranged("workers", 8, 2, "log2")), "", "min ≤ max"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.constraint != "" {
				tc.study.Constraints = []string{tc.constraint}
			}
			_, err := space.Candidates(tc.study)
			var in *data.InputError
			if !errors.As(err, &in) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("err = %v\nwant an InputError with …%s…", err, tc.want)
			}
		})
	}
}

// In any space, candidates are distinct, valid and satisfy the constraint.
func TestCandidatesProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := studyOf(
			ranged("workers", 1, float64(rapid.IntRange(1, 9).Draw(t, "workers")), "linear"),
			ranged("ps", 0, float64(rapid.IntRange(1, 3).Draw(t, "ps")), "linear"),
			knob("mode", "allreduce", "ps-sync", "ps-async"),
			ranged("nodes", 1, float64(rapid.IntRange(1, 3).Draw(t, "nodes")), "linear"))
		s.Constraints = []string{"workers + ps <= 6"}
		all, err := space.Candidates(s)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, c := range all {
			if seen[c.Key()] {
				t.Fatalf("%s is there twice", c)
			}
			seen[c.Key()] = true
			if c.Workers+c.PS > 6 || c.Mode.UsesPS() != (c.PS > 0) || c.Nodes > c.Workers {
				t.Fatalf("%s makes no sense", c)
			}
		}
	})
}

func TestCommand(t *testing.T) {
	s := studyOf(knob("depth", "2"))
	s.Command = []string{"train", "--batch={{.LocalBatch}}", "--total={{.GlobalBatch}}", "{{.WorkersPerNode}}x{{.Nodes}}", "{{.X.depth}}"}
	got, err := data.RenderCommand(s.Command, data.Config{Workers: 6, Nodes: 2, LocalBatch: 1e6 + .5, Extra: map[string]string{"depth": "2"}}, s.Source)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"train", "--batch=1000000.5", "--total=6000003", "3x2", "2"}, got); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"{{.Batch}}":   "can't evaluate field Batch",
		"{{.X.width}}": "width",
		"{{":           "command[0]",
	} {
		s.Command = []string{text}
		if _, err := data.RenderCommand(s.Command, data.Config{Workers: 1}, s.Source); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "study.yaml:command[0]") {
			t.Errorf("%s: err = %v, want …%s…", text, err, want)
		}
	}
}

// A part of the objective is a value or a comparison by knob.
func TestCondition(t *testing.T) {
	s := studyOf(knob("workers", "8", "256"), knob("gpu_type", "a100", "h100"), knob("precision", "bf16", "fp8"))
	s.Constraints = []string{"workers > 1000"} // not part of the condition
	for _, tc := range []struct {
		of   map[string]string
		c    data.Config
		want bool
	}{
		{map[string]string{"workers": "256"}, data.Config{Workers: 256}, true},
		{map[string]string{"workers": "256"}, data.Config{Workers: 8}, false},
		{map[string]string{"workers": "<= 32", "gpu_type": "h100"}, data.Config{Workers: 8, GPUType: "h100"}, true},
		{map[string]string{"workers": "<= 32", "gpu_type": "h100"}, data.Config{Workers: 8, GPUType: "a100"}, false},
		{map[string]string{"precision": "bf16"}, data.Config{Workers: 8, Extra: map[string]string{"precision": "fp8"}}, false},
		{map[string]string{"precision": "!= 'bf16'"}, data.Config{Workers: 8, Extra: map[string]string{"precision": "fp8"}}, true},
	} {
		meets, err := space.Condition(s, "at", tc.of)
		if err != nil {
			t.Fatal(err)
		}
		if got := meets(tc.c); got != tc.want {
			t.Errorf("%v of %s: %v, want %v", tc.of, tc.c, got, tc.want)
		}
	}
	if meets, err := space.Condition(s, "at", nil); meets != nil || err != nil {
		t.Errorf("no condition: %v", err)
	}
	var input *data.InputError
	for _, of := range []map[string]string{{"speed": "3"}, {"workers": "many"}, {"workers": "<"}} {
		if _, err := space.Condition(s, "measure", of); !errors.As(err, &input) || input.Source.Column != "objective.measure" {
			t.Errorf("%v: error %v, want one of objective.measure", of, err)
		}
	}
}
