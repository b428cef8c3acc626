package profile

import (
	"strings"
	"testing"

	"knee/data"
)

// Measurements that say more than the study, or nodes where it has placements, are of
// its configurations; those of other knobs, or of one of several placements, of none.
func TestRecognise(t *testing.T) {
	for _, c := range []struct {
		space, columns, row string
		want                string // key of the configuration; empty: a stranger
	}{
		{"workers: [1, 8]", "nodes,workers", "1,8", "8|0|32"},
		{"workers: [1, 8]", "workers,x_seed", "8,7", "8|0|32"},
		{"workers: [1, 8]", "workers", "4", ""},
		{"workers: [1, 8]\n  x_fusion: [2, 64]", "workers,x_fusion,x_seed", "8,64,1", "fusion=64"},
		{"workers: [1, 8]\n  x_fusion: [2, 64]", "workers", "8", ""},
		{"placement: [\"8\", \"4-4\"]", "nodes,workers", "2,8", "4-4"},
		{"placement: [\"6-2\", \"4-4\"]", "nodes,workers", "2,8", ""},
		{"placement: [\"6-2\", \"4-4\"]", "placement", "6-2", "6-2"},
		{"workers: [8]\n  x_bucket: [25, 50]", "workers,x_bucket", "8,25.0", "bucket=25"},
		{"workers: [8]\n  x_ck: [true, false]", "workers,x_ck", "8,True", "ck=true"},
	} {
		study, err := data.ReadStudy(strings.NewReader("job: a\nspace:\n  local_batch: [32]\n  "+c.space+"\nobjective: {maximize: throughput}\ncommand: [train]\nlauncher: {local: {}}\n"), "study.yaml")
		if err != nil {
			t.Fatal(err)
		}
		ms, _, err := data.ReadMeasurements(strings.NewReader("job,local_batch,step_time_s,layers,"+c.columns+"\na,32,0.1,24,"+c.row+"\n"), "m.csv")
		if err != nil {
			t.Fatal(err)
		}
		got, strangers, err := Recognise(study, ms)
		if err != nil {
			t.Fatal(err)
		}
		if got[0].Layers != 24 {
			t.Errorf("%s: %d layers, want 24", c.space, got[0].Layers)
		}
		if strange := strangers == 1; strange != (c.want == "") || !strange && !strings.Contains(got[0].Key(), c.want) {
			t.Errorf("%s, measured %s %s: %s, strangers %d, want %q", c.space, c.columns, c.row, got[0].Key(), strangers, c.want)
		}
	}
}
