package samples_test

import (
	"io/fs"
	"strings"
	"testing"

	"knee/allocate/simulate"
	"knee/data"
	"knee/data/samples"
)

// Every file loads without a warning, and is documented.
func TestSamplesLoad(t *testing.T) {
	readme, err := fs.ReadFile(samples.Files(), "README.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := fs.ReadDir(samples.Files(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "README.md" && !strings.Contains(string(readme), "`"+e.Name()+"`") {
			t.Errorf("README.md does not say where %s comes from", e.Name())
		}
		f, err := samples.Files().Open(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		n, warnings := 1, []string(nil)
		switch name := e.Name(); {
		case strings.HasSuffix(name, ".curve.csv"):
			var points []data.CurvePoint
			points, warnings, err = data.ReadCurve(f, name)
			n = len(points)
		case name == "workload.csv":
			var jobs []simulate.Job
			jobs, _, err = simulate.ReadWorkload(f, name)
			n = len(jobs)
		case name == "cluster.yaml":
			_, err = data.ReadCluster(f, name)
		case strings.HasSuffix(name, ".csv"):
			var ms []data.Measurement
			ms, warnings, err = data.ReadMeasurements(f, name)
			n = len(ms)
		case strings.HasSuffix(name, ".yaml"):
			_, err = data.ReadStudy(f, name)
		}
		if err != nil || len(warnings) > 0 || n == 0 {
			t.Errorf("%s: %d rows, warnings %q, %v", e.Name(), n, warnings, err)
		}
	}
}

// The measurements are what README.md says: every mode, up to 60 rows.
func TestBuiltinCPU(t *testing.T) {
	f, err := samples.Files().Open("builtin-cpu.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ms, _, err := data.ReadMeasurements(f, "builtin-cpu.csv")
	if err != nil {
		t.Fatal(err)
	}
	modes, most := map[data.Mode]int{}, 0
	for _, m := range ms {
		modes[m.Mode]++
		most = max(most, m.Workers)
		if m.Status != data.OK || m.Job != "builtin-vision" {
			t.Errorf("%s: %s of job %s", m.Source, m.Status, m.Job)
		}
	}
	if len(ms) != 54 || len(modes) != 3 || most != 8 {
		t.Errorf("%d rows, modes %v, up to %d workers; want 54 rows of 3 modes up to 8", len(ms), modes, most)
	}
}
