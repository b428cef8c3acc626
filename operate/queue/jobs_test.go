package queue

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/data"
)

func TestUniqueNames(t *testing.T) {
	jobs := []Job{{ID: "1", Name: "a"}, {ID: "2", Name: "a"}, {ID: "3", Name: "b", Namespace: "x"}, {ID: "4", Name: "b", Namespace: "y"}, {ID: "5", Name: "a@1"},
		{ID: "6", Name: "x/b"}, {ID: "7", Name: ""}, {ID: "8", Name: "two\nlines"}, {ID: "9", Name: "@7"}, {ID: "10", Name: "c"}}
	want := []string{"@1", "a@2", "b@3", "y/b", "a@1", "x/b", "@7", "@8", "@9", "c"}
	got := uniqueNames(jobs)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f := &data.JobsFile{}
	for i, j := range jobs {
		f.Jobs = append(f.Jobs, data.Job{Name: got[i], ID: j.ID, Weight: 1, Current: &data.Current{GPUType: "a100", Mode: data.AllReduce, Placement: data.Placement{1}}})
	}
	if err := data.WriteJobs(io.Discard, f); err != nil {
		t.Errorf("jobs.yaml with these names: %v", err)
	}
}

func TestMatches(t *testing.T) {
	j := Job{Name: "resnet-7", Partition: "gpu", User: "ann", Labels: map[string]string{"team": "vision"}}
	for _, c := range []struct {
		match data.Match
		want  bool
	}{
		{data.Match{}, true},
		{data.Match{Name: "resnet-*", User: "ann"}, true},
		{data.Match{Name: "resnet"}, false},
		{data.Match{Name: "resnet-*", Partition: "cpu"}, false},
		{data.Match{Labels: map[string]string{"team": "vision"}}, true},
		{data.Match{Labels: map[string]string{"team": ""}}, false},
		{data.Match{Labels: map[string]string{"other": ""}}, false},
		{data.Match{Name: "["}, false},
	} {
		if got := Matches(c.match, j); got != c.want {
			t.Errorf("%+v: %t", c.match, got)
		}
	}
}

// Done work is subtracted from the remaining work; a job that is not resizable
// keeps its number of workers.
func TestFill(t *testing.T) {
	v := View{Now: time.Unix(1000, 0)}
	rule := &data.JobRule{Model: "m", Remaining: data.Remaining{Steps: 100}, Workers: data.IntRange{Max: 8}}
	for done, left := range map[float64]float64{0: 100, 40: 60, 100: 1, 250: 1} {
		out := data.Job{}
		v.fill(&out, Row{Job: Job{Resizable: true}, Rule: rule, Step: done})
		if out.Remaining.Steps != left || out.Workers.Max != 8 {
			t.Errorf("after %g steps: %+v", done, out)
		}
	}
	out := data.Job{Current: &data.Current{Placement: data.Placement{2}}}
	v.fill(&out, Row{Job: Job{Workers: 2, Started: time.Unix(400, 0)}, Rule: &data.JobRule{Remaining: data.Remaining{Seconds: 900}}})
	if out.Remaining.Seconds != 300 || out.Workers != (data.IntRange{Min: 2, Max: 2}) {
		t.Errorf("after ten minutes: %+v", out)
	}
}
