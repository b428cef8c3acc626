package simulate

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func TestRecordKeepsChanges(t *testing.T) {
	var got []Usage
	for _, u := range []Usage{{0, 1, 1, 0}, {0, 2, 1, 0}, {5, 2, 1, 0}, {7, 0, 0, 0}} {
		got = Record(got, u)
	}
	if want := []Usage{{0, 2, 1, 0}, {7, 0, 0, 0}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReadUsage(t *testing.T) {
	want := []Replayed{
		{Policy: "fifo", Workload: "w", GPUs: 8, History: []Usage{{0, 4, 1, 0}, {2.5, 8, 2, 3}}},
		{Policy: "srtf", Workload: "w", GPUs: 8, History: []Usage{{1, 0, 0, 0}}},
	}
	var b bytes.Buffer
	if err := WriteUsage(&b, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadUsage(&b, "u.csv")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	const header = "policy,workload,time_s,gpus_used,gpus_total,running,waiting\n"
	for _, tt := range []struct{ in, want string }{
		{"", "u.csv: found an empty file"},
		{"policy\n", "want a column workload"},
		{header + "p,w,soon,1,2,1,0\n", `u.csv:2:time_s: found "soon", want seconds ≥ 0`},
		{header + "p,w,NaN,1,2,1,0\n", "u.csv:2:time_s"},
		{header + "p,w,1,3,2,1,0\n", `u.csv:2:gpus_used: found "3", want no more than gpus_total, 2`},
		{header + "p,w,1,1,2,1,-1\n", "u.csv:2:waiting"},
		{header + "p,w,1,1,2,1,0\np,w,1,1,2,1,0\n", `u.csv:3:time_s: found "1", want more than`},
		{header + "p,w,1,1,2,1,0\np,w,2,1,4,1,0\n", `u.csv:3:gpus_total: found "4", want 2`},
	} {
		if _, err := ReadUsage(strings.NewReader(tt.in), "u.csv"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %s", tt.in, err, tt.want)
		}
	}
}

func FuzzReadUsage(f *testing.F) {
	f.Add("policy,workload,time_s,gpus_used,gpus_total,running,waiting\np,w,1,1,2,1,0\n")
	f.Fuzz(func(t *testing.T, in string) {
		all, err := ReadUsage(strings.NewReader(in), "u.csv")
		if err != nil {
			return
		}
		for _, u := range all {
			for i, x := range u.History {
				if x.GPUs > u.GPUs || i > 0 && x.At <= u.History[i-1].At {
					t.Errorf("read %+v", u)
				}
			}
		}
	})
}
