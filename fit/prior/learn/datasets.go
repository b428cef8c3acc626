package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"knee/data"
)

// job is the measurements of one job.
type job struct {
	dataset, name string
	rows          []data.Measurement
}

// split divides rows of a job into measured and predicted ones.
type split struct {
	*job
	protocol    string
	train, test []data.Measurement
}

// loadJobs reads the datasets and groups the rows by job.
func loadJobs(dir string) ([]*job, error) {
	var jobs []*job
	add := func(dataset, pattern string, read func(path string) ([]data.Measurement, error)) error {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		at := map[string]*job{}
		for _, f := range files {
			ms, err := read(f)
			if err != nil {
				return err
			}
			for _, m := range ms {
				if m.Status != data.OK {
					continue
				}
				if at[m.Job] == nil {
					at[m.Job] = &job{dataset: dataset, name: m.Job}
					jobs = append(jobs, at[m.Job])
				}
				at[m.Job].rows = append(at[m.Job].rows, m)
			}
		}
		return nil
	}
	for _, s := range []struct {
		dataset, pattern string
		read             func(path string) ([]data.Measurement, error)
	}{
		{"allreduce", "allreduce/*.csv", plain},
		{"ps", "ps/*.csv", plain},
		{"gavel", "gavel/isolated.csv", gavel},
		{"mlperf", "scaling/mlperf.csv", plain},
		{"llm-foundry", "scaling/llm-foundry.csv", plain},
		{"vtrain-single", "scaling/vtrain-single.csv", plans},
		{"vtrain-multi", "scaling/vtrain-multi.csv", plans},
		{"rubick", "scaling/rubick.csv", plans},
		{"sailor", "scaling/sailor.csv", plans},
		{"bigscience", "scaling/bigscience.csv", plans},
		{"vtrain-single layouts", "scaling/vtrain-single.csv", plain},
		{"vtrain-multi layouts", "scaling/vtrain-multi.csv", plain},
		{"rubick layouts", "scaling/rubick.csv", plain},
		{"sailor layouts", "scaling/sailor.csv", plain},
		{"bigscience layouts", "scaling/bigscience.csv", plain},
	} {
		if err := add(s.dataset, s.pattern, s.read); err != nil {
			return nil, err
		}
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("no measured data in %s", dir)
	}
	return jobs, nil
}

func plain(path string) ([]data.Measurement, error) {
	ms, _, err := data.LoadMeasurements(path)
	return ms, err
}

// table reads a CSV file into maps by column.
func table(path string) ([]map[string]string, []string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, nil, err
	}
	var rows []map[string]string
	for _, r := range all[1:] {
		m := map[string]string{}
		for i, h := range all[0] {
			m[h] = r[i]
		}
		rows = append(rows, m)
	}
	return rows, all[0], nil
}

// plans reads a table of training plans, with degrees of parallelism as knobs.
// The local batch in it is per replica, so the global batch is left out where
// both are given.
func plans(path string) ([]data.Measurement, error) {
	rows, header, err := table(path)
	if err != nil {
		return nil, err
	}
	keep := []string{"job", "gpu_type", "nodes", "workers", "placement", "local_batch", "accum_steps", "step_time_s", "status"}
	knobs := []string{"tp", "pp", "cp", "sharding", "recompute", "offload"}
	if !slices.Contains(header, "local_batch") {
		keep = append(keep, "global_batch")
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	var head []string
	for _, k := range append(slices.Clone(keep), knobs...) {
		if slices.Contains(knobs, k) {
			k = "x_" + k
		}
		head = append(head, k)
	}
	w.Write(head)
	for _, r := range rows {
		var cells []string
		for _, k := range append(slices.Clone(keep), knobs...) {
			cells = append(cells, r[k])
		}
		w.Write(cells)
	}
	w.Flush()
	ms, _, err := data.ReadMeasurements(&out, path)
	return ms, err
}

// gavel reads Gavel's throughputs: mini-batches per second, summed over workers
// with a batch each.
func gavel(path string) ([]data.Measurement, error) {
	rows, _, err := table(path)
	if err != nil {
		return nil, err
	}
	var ms []data.Measurement
	for _, r := range rows {
		rate, err := strconv.ParseFloat(r["steps_per_s"], 64)
		if err != nil || rate <= 0 {
			continue
		}
		k, err := strconv.Atoi(r["scale_factor"])
		if err != nil {
			return nil, err
		}
		batch, _ := strconv.ParseFloat(r["batch_size"], 64)
		ms = append(ms, data.Measurement{Status: data.OK, StepTime: float64(k) / rate, Config: data.Config{
			Job: r["job_type"], GPUType: r["gpu_type"], Workers: k, LocalBatch: batch}})
	}
	return ms, nil
}

// splitsOf returns the splits to score.
func splitsOf(dir string, jobs []*job) ([]split, error) {
	var all []split
	for _, j := range jobs {
		switch j.dataset {
		case "mlperf", "llm-foundry", "gavel":
			for _, gpu := range gpuTypes(j.rows) {
				var rows []data.Measurement
				for _, r := range j.rows {
					if r.GPUType == gpu || j.dataset != "gavel" {
						rows = append(rows, r)
					}
				}
				all = append(all, sizeSplits(j, rows)...)
				if j.dataset != "gavel" {
					break
				}
			}
		case "ps":
			for _, n := range []int{5, 10, 20} {
				for seed := range uint64(10) {
					all = append(all, random(j, n, seed))
				}
			}
		case "sailor", "bigscience", "sailor layouts", "bigscience layouts":
			if layouts(j) && len(j.rows) > 8 {
				for seed := range uint64(4) {
					all = append(all, random(j, 8, seed+1))
				}
			}
		default:
			if j.dataset != "allreduce" && len(j.rows) >= 24 {
				for _, n := range []int{8, 20} {
					for seed := range uint64(4) {
						all = append(all, random(j, n, seed+1))
					}
				}
			}
		}
	}
	all = append(all, fewGPUs(jobs)...)
	all = append(all, unseenSizes(jobs)...)
	more, err := adaptdl(dir, jobs)
	for _, j := range jobs {
		all = append(all, secondType(j)...)
	}
	return append(all, more...), err
}

func gpuTypes(rows []data.Measurement) []string {
	var out []string
	for _, r := range rows {
		if !slices.Contains(out, r.GPUType) {
			out = append(out, r.GPUType)
		}
	}
	return out
}

// sizeSplits predict the larger sizes of a series from the one, two or three
// smallest.
func sizeSplits(j *job, rows []data.Measurement) []split {
	var sizes []int
	for _, r := range rows {
		if !slices.Contains(sizes, r.Workers) {
			sizes = append(sizes, r.Workers)
		}
	}
	slices.Sort(sizes)
	var out []split
	for n := 1; n <= 3 && n < len(sizes); n++ {
		if j.dataset == "mlperf" && n == 1 || j.dataset == "llm-foundry" && len(sizes) < 3 {
			continue
		}
		s := split{job: j, protocol: fmt.Sprintf("%d sizes", n)}
		for _, r := range rows {
			if r.Workers <= sizes[n-1] {
				s.train = append(s.train, r)
			} else {
				s.test = append(s.test, r)
			}
		}
		known := gpuTypes(s.train)
		s.test = slices.DeleteFunc(s.test, func(r data.Measurement) bool { return !slices.Contains(known, r.GPUType) })
		if len(s.test) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func random(j *job, n int, seed uint64) split {
	s := split{job: j, protocol: fmt.Sprintf("%d rows", n)}
	for i, at := range rand.New(rand.NewPCG(seed, 1)).Perm(len(j.rows)) {
		if i < n {
			s.train = append(s.train, j.rows[at])
		} else {
			s.test = append(s.test, j.rows[at])
		}
	}
	return s
}

// adaptdl reads the splits used to score AdaptDL's fit.
func adaptdl(dir string, jobs []*job) ([]split, error) {
	rows, _, err := table(filepath.Join(dir, "peers", "adaptdl-splits.csv"))
	if err != nil {
		return nil, err
	}
	files := map[string][]data.Measurement{}
	pick := func(file, list string) (out []data.Measurement, err error) {
		if files[file] == nil {
			if files[file], err = plain(filepath.Join(dir, file)); err != nil {
				return nil, err
			}
		}
		for _, w := range strings.Fields(list) {
			i, err := strconv.Atoi(w)
			if err != nil {
				return nil, err
			}
			out = append(out, files[file][i])
		}
		return out, nil
	}
	var all []split
	for _, r := range rows {
		s := split{protocol: r["split"] + " " + r["cluster"]}
		for _, j := range jobs {
			if j.dataset == "allreduce" && j.name == r["job"] {
				s.job = j
			}
		}
		if s.train, err = pick(r["train_file"], r["train_rows"]); err != nil {
			return nil, err
		}
		if s.test, err = pick(r["test_file"], r["test_rows"]); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// secondType predicts each GPU type of a job from all rows of another and three
// of its own; for Gavel, from its smallest size.
func secondType(j *job) []split {
	var all []split
	types := gpuTypes(j.rows)
	for _, known := range types {
		for t, gpu := range types {
			if gpu == known {
				continue
			}
			var own, other []data.Measurement
			for _, r := range j.rows {
				switch r.GPUType {
				case gpu:
					own = append(own, r)
				case known:
					other = append(other, r)
				}
			}
			n := 3
			if j.dataset == "gavel" {
				n = 1
				if strings.Contains(known+gpu, "_") { // several nodes, named like a type
					continue
				}
			} else {
				own = some(own, len(own)-1, uint64(t))
			}
			if len(own) < n+2 || len(other) < 3 {
				continue
			}
			s := split{job: j, protocol: "second type"}
			s.train, s.test = append(some(other, maxTrain, 1), own[:n]...), own[n:]
			all = append(all, s)
		}
	}
	return all
}

// layouts reports whether the rows of a job have layouts.
func layouts(j *job) bool { return strings.HasSuffix(j.dataset, " layouts") }

// fewGPUs predicts the plans of eight GPUs from those of at most four.
func fewGPUs(jobs []*job) []split {
	var all []split
	for _, j := range jobs {
		if j.dataset != "vtrain-single layouts" {
			continue
		}
		s := split{job: j, protocol: "few GPUs"}
		for _, r := range j.rows {
			if r.Workers <= 4 {
				s.train = append(s.train, r)
			} else {
				s.test = append(s.test, r)
			}
		}
		if len(s.train) > 0 && len(s.test) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// unseenSizes predicts the plans of a model from those of all other sizes in
// its dataset, as one job.
func unseenSizes(jobs []*job) []split {
	var all []split
	done := map[string]bool{}
	for _, j := range jobs {
		model, _, _ := strings.Cut(j.name, "|")
		if !strings.HasPrefix(j.dataset, "vtrain") || !layouts(j) || done[j.dataset+model] {
			continue
		}
		done[j.dataset+model] = true
		s := split{job: j, protocol: "unseen size"}
		for _, o := range jobs {
			if o.dataset != j.dataset {
				continue
			}
			for _, r := range o.rows {
				own := strings.HasPrefix(r.Job, model+"|")
				r.Job = "all sizes"
				if own {
					s.test = append(s.test, r)
				} else {
					s.train = append(s.train, r)
				}
			}
		}
		if len(s.train) > 0 {
			all = append(all, s)
		}
	}
	return all
}
