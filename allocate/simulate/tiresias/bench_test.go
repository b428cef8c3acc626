package tiresias

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"knee/allocate/simulate"
	"knee/internal/bench"
)

// TestPublishedEndTimes: every per-job end time that the published program
// printed, for every policy and cluster whose output is at hand.
func TestPublishedEndTimes(t *testing.T) {
	dir := filepath.Join(bench.Dir(t), "workloads", "tiresias")
	files, err := filepath.Glob(filepath.Join(dir, "expected", "*_count_*.csv"))
	if err != nil || len(files) == 0 {
		t.Skipf("no expected output in %s", dir)
	}
	jobs := workload(t, filepath.Join(dir, "60_job.csv"))
	service := column(t, filepath.Join(dir, "yarn-gput1000.csv"), "duration")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".csv")
		cluster, policy, _ := strings.Cut(name, "_count_")
		t.Run(name, func(t *testing.T) {
			spec := filepath.Join(dir, cluster+".csv")
			gpus := column(t, spec, "num_switch")[0] * column(t, spec, "num_node_p_switch")[0] * column(t, spec, "num_gpu_p_node")[0]
			got, err := run(jobs, int(gpus), policy, service)
			if err != nil {
				t.Fatal(err)
			}
			ids, ends := column(t, file, "job_id"), column(t, file, "end_time")
			starts := column(t, file, "start_time")
			if len(ids) != len(got) {
				t.Fatalf("%d jobs end, want %d", len(got), len(ids))
			}
			for i, id := range ids {
				for _, o := range got {
					if o.Job == strconv.FormatInt(id, 10) && (o.End != float64(ends[i]) || o.Start != float64(starts[i])) {
						t.Errorf("job %d runs from %g to %g, want %d to %d", id, o.Start, o.End, starts[i], ends[i])
					}
				}
			}
		})
	}
}

func workload(t *testing.T, file string) []simulate.Job {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	jobs, _, err := simulate.ReadWorkload(f, file)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// column reads whole numbers; a fraction is dropped.
func column(t *testing.T, file, name string) []int64 {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []int64
	for i, h := range rows[0] {
		if h != name {
			continue
		}
		for _, r := range rows[1:] {
			v, err := strconv.ParseFloat(r[i], 64)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, int64(v))
		}
	}
	if out == nil {
		t.Fatalf("%s: no column %s", file, name)
	}
	return out
}
