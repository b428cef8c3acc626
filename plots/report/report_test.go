package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"knee/data"
	"knee/fit"
	"knee/predict"
)

// hostile is a name that would run as a script if it were not escaped.
const hostile = `<script>alert("1")</script>`

// study writes measurements of a job with a hostile name and returns the
// file. Step times follow compute/k + sync·k with one failed trial.
func study(t *testing.T) (path string, ms []data.Measurement) {
	t.Helper()
	for _, k := range []int{1, 2, 4, 8} {
		for _, b := range []float64{32, 64} {
			m := data.Measurement{Config: data.Config{Job: hostile, GPUType: "a100", Workers: k, LocalBatch: b}, Status: data.OK}
			m.StepTime, m.StepTimeSD, m.Steps = 0.02+b/900+0.03*float64(k), 0.001, 20
			if k == 8 && b == 64 {
				m.Status, m.StepTime, m.Steps, m.StepTimeSD, m.Error = data.OOM, 0, 0, 0, "out of memory & \"more\" "+hostile
			}
			ms = append(ms, m)
		}
	}
	path = filepath.Join(t.TempDir(), "m.csv")
	if err := data.WriteFile(path, func(w io.Writer) error { return data.WriteMeasurements(w, ms) }); err != nil {
		t.Fatal(err)
	}
	return path, ms
}

func render(t *testing.T, paths ...string) (Report, string) {
	t.Helper()
	var in Inputs
	for _, p := range paths {
		if err := in.Read(p); err != nil {
			t.Fatal(err)
		}
	}
	r, err := in.Report(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return r, b.String()
}

func TestNamesAreText(t *testing.T) {
	path, _ := study(t)
	_, page := render(t, path)
	if strings.Contains(page, hostile) || strings.Contains(page, "<script>alert") {
		t.Error("the name of a job came into the page as a script")
	}
	if n := strings.Count(page, "<script>"); n != 1 {
		t.Errorf("the page has %d scripts; want its own only", n)
	}
	if !strings.Contains(page, html.EscapeString(hostile)) {
		t.Error("the page does not show the name of the job")
	}
}

// The page holds out the same rows as knee validate, repeats included, and so says
// the same of them.
func TestValidatesAsTheCommand(t *testing.T) {
	path, ms := study(t)
	again := ms[0]
	again.StepTime *= 1.1
	ms = append(ms, again)
	if err := data.WriteFile(path, func(w io.Writer) error { return data.WriteMeasurements(w, ms) }); err != nil {
		t.Fatal(err)
	}
	v, err := predict.Validate(t.Context(), ms, nil, predict.ValidationSettings{Seed: predict.DefaultSeed})
	if err != nil {
		t.Fatal(err)
	}
	_, page := render(t, path)
	total := v.Totals()[0]
	if want := fmt.Sprintf("%.0f %% of %d lie inside their 90 %% interval", total.Coverage, total.N); !strings.Contains(page, want) {
		t.Errorf("the page does not say %q", want)
	}
}

// A page that asks the network for something can neither be mailed nor
// archived.
func TestNoOutsideRequest(t *testing.T) {
	path, _ := study(t)
	_, page := render(t, path)
	for _, u := range regexp.MustCompile(`(?i)(src|href|url)\s*[=(]\s*["']?([^"'\s>)]*)`).FindAllStringSubmatch(page, -1) {
		if u[2] != "" && !strings.HasPrefix(u[2], "#") && !strings.HasPrefix(u[2], "data:") {
			t.Errorf("the page refers to %q", u[2])
		}
	}
	for _, u := range regexp.MustCompile(`https?://[^\s"'<]*`).FindAllString(page, -1) {
		if !strings.HasPrefix(u, "http://www.w3.org/") { // names of SVG, never fetched
			t.Errorf("the page names %q", u)
		}
	}
}

func TestConclusions(t *testing.T) {
	path, _ := study(t)
	r, page := render(t, path)
	all := strings.Join(r.Findings, "\n")
	if len(r.Answers) != 1 {
		t.Fatalf("%d answers, want 1", len(r.Answers))
	}
	facts := map[string]string{}
	for _, f := range r.Answers[0].Facts {
		facts[f.Name] = f.Text
		all += "\n" + f.Text
	}
	// Of 0.02 + b/900 + 0.03·k seconds, two workers at 64 samples take 0.151 s
	// for 128 samples, one 0.121 s for 64: 1.6 times the speed, and four 2.4 times.
	for name, want := range map[string]string{"workers": "the knee: ", "batch": "of 32 to 64 measured", "cost": "worker-hours per million samples", "speed": "samples/s", "how sure": "held-out measurements are predicted"} {
		if !strings.Contains(facts[name], want) {
			t.Errorf("%s: %q, want %q in it", name, facts[name], want)
		}
	}
	if want := "1 of 8 trials gave no measurement (1 out of memory)"; !strings.Contains(all, want) {
		t.Errorf("the conclusions lack %q:\n%s", want, all)
	}
	if strings.Index(page, "how sure") > strings.Index(page, "<svg") {
		t.Error("the conclusions do not come first")
	}
	if len(r.Inputs) != 1 || len(r.Inputs[0].SHA256) != 64 {
		t.Errorf("inputs %+v; want the file with its hash", r.Inputs)
	}
}

// Every measured point must be found under the pointer, inside the figure.
func TestTooltips(t *testing.T) {
	path, _ := study(t)
	_, page := render(t, path)
	found := false
	for _, m := range regexp.MustCompile(`data-tooltips="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		var tooltips [][3]any
		if err := json.Unmarshal([]byte(html.UnescapeString(m[1])), &tooltips); err != nil {
			t.Fatalf("%v in %s", err, m[1])
		}
		for _, s := range tooltips {
			x, y := s[0].(float64), s[1].(float64)
			if x < 0 || x > 1 || y < 0 || y > 1 {
				t.Errorf("tooltip %v lies outside its figure", s)
			}
			found = found || strings.Contains(s[2].(string), "4 workers") && strings.Contains(s[2].(string), "measured throughput")
		}
	}
	if !found {
		t.Error("the measurement on 4 workers is under no pointer")
	}
	if figures, named := strings.Count(page, "<figure "), strings.Count(page, `role="img" aria-label="`)-strings.Count(page, `aria-label=""`); figures == 0 || named != figures {
		t.Errorf("%d of %d figures have a text alternative", named, figures)
	}
	// Speed and batch are drawn where the answer is.
	if n := strings.Count(page, ">the answer above<"); n != 2 {
		t.Errorf("the answer is marked in %d figures; want 2", n)
	}
}

func TestToldApartByContent(t *testing.T) {
	path, ms := study(t)
	dir := t.TempDir()
	model, err := fit.Fit(ms, fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	files := []string{path, filepath.Join(dir, "a"),
		write("b", "job,step,loss\n"+hostileCSV+",1,2\n"+hostileCSV+",2,1.5\n"+hostileCSV+",3,1.2\n"+hostileCSV+",4,1.1\n"),
		write("c", "nodes:\n  - {name: n1, gpu_type: a100, gpus: 8}\n"),
		write("d", "policy,workload,jobs,jct_mean_s\nfifo,w,3,100\nknee,w,3,60\n"),
		write("e", "policy,workload,job,submit_s,start_s,end_s,jct_s,restarts\nfifo,w,a,0,0,100,100,0\nknee,w,a,0,0,60,60,0\n")}
	if err := fit.WriteModel(files[1], model); err != nil {
		t.Fatal(err)
	}
	var in Inputs
	for _, f := range files {
		if err := in.Read(f); err != nil {
			t.Fatal(err)
		}
	}
	if len(in.Measurements) != 8 || len(in.Models) != 1 || len(in.Curves) != 4 || in.Cluster == nil || len(in.Tables) != 2 {
		t.Errorf("read %d measurements, %d models, %d curve points, cluster %v, %d tables; want 8, 1, 4, one, 2",
			len(in.Measurements), len(in.Models), len(in.Curves), in.Cluster, len(in.Tables))
	}
	r, err := in.Report(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(r.Findings, "\n"); !strings.Contains(all, "knee has the smallest mean completion time, 1m; fifo has 1m40s") {
		t.Errorf("the simulation's winner is not named:\n%s", all)
	}
	if err := in.Read(write("f", "x,y\n1,2\n")); err == nil || !strings.Contains(err.Error(), "measurements (CSV with workers and step_time_s or throughput)") {
		t.Errorf("an unknown file gives %v; want what is known", err)
	}
}

// hostileCSV is the name as CSV spells it.
const hostileCSV = `"<script>alert(""1"")</script>"`

func TestSameBytes(t *testing.T) {
	path, _ := study(t)
	_, a := render(t, path)
	_, b := render(t, path)
	if a != b {
		t.Error("the same inputs give different pages")
	}
}

func TestNothing(t *testing.T) {
	var in Inputs
	if _, err := in.Report(context.Background()); err == nil || !strings.Contains(err.Error(), "nothing to report on") {
		t.Errorf("got %v", err)
	}
}
