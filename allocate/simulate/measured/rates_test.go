package measured

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"knee/allocate/simulate"
	"knee/data"
)

const rateHeader = "gpu_type,job_type,model,batch_size,scale_factor,steps_per_s\n"

func TestRates(t *testing.T) {
	p, err := Load(write(t, map[string]string{"gavel/isolated.csv": rateHeader + "v100,A,A,,1,8\nk80,A,A,,1,2\nv100,A,A,,2,12\nk80,B,B,,1,0\n"}))
	if err != nil {
		t.Fatal(err)
	}
	c := &data.Cluster{Nodes: []data.Node{{Name: "v", GPUType: "v100", GPUs: 2}, {Name: "k", GPUType: "k80", GPUs: 2}}}
	options := func(j simulate.Job) string {
		out, err := p.Rates.Options(j, simulate.RigidOptions(j, c))
		if err != nil {
			return err.Error()
		}
		var text []string
		for _, o := range out {
			text = append(text, fmt.Sprint(o.Config.GPUType, " ", o.Answer.Goodput.Mean))
		}
		return strings.Join(text, ", ")
	}
	for _, tt := range []struct {
		job  simulate.Job
		want string
	}{
		{simulate.Job{Application: "A", Workers: 1}, "v100 8, k80 2"},
		{simulate.Job{Application: "A", Workers: 2}, "v100 12"},
		{simulate.Job{Application: "B", Workers: 1, Source: data.Source{File: "g", Line: 3}}, `g:3:job_type: found "B" on 1 workers`},
	} {
		if got := options(tt.job); !strings.Contains(got, tt.want) {
			t.Errorf("%s on %d workers: %s, want %s", tt.job.Application, tt.job.Workers, got, tt.want)
		}
	}
}

func FuzzLoadRates(f *testing.F) {
	f.Add(rateHeader + "v100,A,A,,1,8\n")
	f.Add(rateHeader + "v100,A,A,,0,NaN\n")
	f.Fuzz(func(t *testing.T, in string) {
		dir := write(t, map[string]string{"r.csv": in})
		r, err := loadRates(filepath.Join(dir, "r.csv"))
		if err != nil {
			return
		}
		for k, v := range r.steps {
			if !(v > 0) || k.workers < 1 || !r.Knows(k.job) {
				t.Fatalf("accepted %+v at %g", k, v)
			}
		}
	})
}

func TestRatesRefuse(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"gpu_type,job_type\n", "r.csv:1:scale_factor: found columns"},
		{rateHeader + "v100,A,A,,1.5,8\n", `r.csv:2:scale_factor: found "1.5"`},
		{rateHeader + "v100,A,A,,1,fast\n", `r.csv:2:steps_per_s: found "fast"`},
		{rateHeader + "v100,A,A,,1,8\nv100,A,A,,1,9\n", `r.csv:3:job_type: found "A"`},
	} {
		_, err := loadRates(filepath.Join(write(t, map[string]string{"r.csv": tt.in}), "r.csv"))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}
