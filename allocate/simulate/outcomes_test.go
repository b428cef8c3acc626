package simulate

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func TestReadOutcomes(t *testing.T) {
	want := []Outcome{{Job: "a,b", Fate: Fails, Submit: 1, Start: 2, End: 3.5, Restarts: 1, GPUSeconds: 6}, {Job: "c", Fate: Completes, End: 4}}
	var b bytes.Buffer
	if err := WriteJobs(&b, []Replayed{{Policy: "fifo", Workload: "w", Outcomes: want}, {Policy: "srtf", Workload: "w", Outcomes: want}}); err != nil {
		t.Fatal(err)
	}
	got, err := ReadOutcomes(&b, "j.csv")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[1].Policy != "srtf" || got[1].Workload != "w" || !reflect.DeepEqual(got[1].Outcomes, want) {
		t.Errorf("got %+v", got)
	}
	const header = "policy,workload,job,submit_s,start_s,end_s,jct_s,restarts\n"
	for _, tt := range []struct{ in, want string }{
		{"", "j.csv: found an empty file"},
		{"policy\n", "want a column workload"},
		{header + "p,w,j,late,0,1,1,0\n", `j.csv:2:submit_s: found "late"`},
		{header + "p,w,j,5,0,1,1,0\n", "j.csv:2:end_s: found \"1\", want a time after submit_s, 5"},
		{header + "p,w,j,5,0,7,1,0.5\n", "j.csv:2:restarts"},
	} {
		if _, err := ReadOutcomes(strings.NewReader(tt.in), "j.csv"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %s", tt.in, err, tt.want)
		}
	}
}

func FuzzReadOutcomes(f *testing.F) {
	f.Add("policy,workload,job,submit_s,start_s,end_s,jct_s,restarts\np,w,j,1,2,3,2,0\n")
	f.Add("policy,workload,job,submit_s,start_s,end_s,jct_s,restarts,fate,gpu_seconds\np,w,j,1,2,3,2,0,failed,4\n")
	f.Fuzz(func(t *testing.T, in string) {
		got, err := ReadOutcomes(strings.NewReader(in), "fuzz.csv")
		if err != nil {
			return
		}
		for _, r := range got {
			for _, o := range r.Outcomes {
				if !(o.JCT() >= 0) || o.Restarts < 0 {
					t.Fatalf("accepted %+v", o)
				}
			}
		}
	})
}
