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
	for _, s := range sources() {
		if err := add(s.dataset, s.pattern, s.read); err != nil {
			return nil, err
		}
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("no measured data in %s", dir)
	}
	return jobs, nil
}

// dataset is a set of measured jobs and where it comes from.
type dataset struct {
	dataset, pattern, source string
	read                     func(path string) ([]data.Measurement, error)
}

// sources returns the datasets.
func sources() []dataset {
	all := []dataset{
		{"allreduce", "allreduce/*.csv", "Pollux OSDI'21 artifact on T4, Sia SOSP'23 artifact on A100", plain},
		{"ps", "ps/*.csv", "DL2", plain},
		{"gavel", "gavel/isolated.csv", "Gavel OSDI'20", gavel},
		{"mlperf", "scaling/mlperf.csv", "MLCommons training results v3.1, v4.0, v4.1", plain},
		{"llm-foundry", "scaling/llm-foundry.csv", "mosaicml/llm-foundry", plain},
	}
	for _, s := range [][2]string{
		{"vtrain-single", "vTrain MICRO'24"}, {"vtrain-multi", "vTrain MICRO'24"},
		{"rubick", "Rubick MLSys'25"}, {"sailor", "Sailor SOSP'25"}, {"bigscience", "bigscience-workshop"},
	} {
		file := "scaling/" + s[0] + ".csv"
		all = append(all, dataset{s[0], file, s[1], plans}, dataset{s[0] + " layouts", file, s[1], plain})
	}
	return all
}

func plain(path string) ([]data.Measurement, error) {
	ms, _, err := data.LoadMeasurements(path)
	return ms, err
}

// table reads a CSV file into rows, the header first.
func table(path string) ([][]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return csv.NewReader(f).ReadAll()
}

// byColumn reads a CSV file into maps by column.
func byColumn(path string) (rows []map[string]string, err error) {
	all, err := table(path)
	if err != nil {
		return nil, err
	}
	for _, r := range all[1:] {
		m := map[string]string{}
		for i, h := range all[0] {
			m[h] = r[i]
		}
		rows = append(rows, m)
	}
	return rows, nil
}

// plans reads a table of training plans, with degrees of parallelism as knobs.
// The local batch in it is per replica, so the global batch is left out where
// both are given.
func plans(path string) ([]data.Measurement, error) {
	rows, err := table(path)
	if err != nil {
		return nil, err
	}
	head := rows[0]
	perReplica := slices.Contains(head, "local_batch")
	for i, name := range head {
		switch name {
		case "tp", "pp", "cp", "sharding", "recompute", "offload":
			head[i] = "x_" + name
		case "job", "gpu_type", "nodes", "workers", "placement", "local_batch", "accum_steps", "step_time_s", "status":
		default:
			if name != "global_batch" || perReplica {
				head[i] = "unused_" + name
			}
		}
	}
	var out bytes.Buffer
	if err := csv.NewWriter(&out).WriteAll(rows); err != nil {
		return nil, err
	}
	ms, _, err := data.ReadMeasurements(&out, path)
	return ms, err
}

// gavel reads Gavel's throughputs: mini-batches per second, summed over workers
// with a batch each.
func gavel(path string) ([]data.Measurement, error) {
	rows, err := byColumn(path)
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
	draw := func(j *job, seeds, first uint64, sizes ...int) {
		for _, n := range sizes {
			for seed := range seeds {
				all = append(all, random(j, n, seed+first))
			}
		}
	}
	for _, j := range jobs {
		switch j.dataset {
		case "allreduce":
		case "mlperf", "llm-foundry":
			all = append(all, sizeSplits(j, j.rows)...)
		case "gavel":
			for _, gpu := range gpuTypes(j.rows) {
				rows := slices.DeleteFunc(slices.Clone(j.rows), func(r data.Measurement) bool { return r.GPUType != gpu })
				all = append(all, sizeSplits(j, rows)...)
			}
		case "ps":
			draw(j, 10, 0, 5, 10, 20)
		case "sailor", "bigscience", "sailor layouts", "bigscience layouts":
			if layouts(j) && len(j.rows) > 8 {
				draw(j, 4, 1, 8)
			}
		default:
			if len(j.rows) >= 24 {
				draw(j, 4, 1, 8, 20)
			}
		}
	}
	all = append(all, fewGPUs(jobs)...)
	all = append(all, unseenSizes(jobs)...)
	all = append(all, oneBatch(jobs)...)
	for _, j := range jobs {
		all = append(all, secondType(j)...)
	}
	more, err := adaptdl(dir, jobs)
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
		if j.dataset == "llm-foundry" && len(sizes) < 3 {
			continue
		}
		s := split{job: j, protocol: fmt.Sprintf("%d sizes", n)}
		s.train, s.test = upTo(rows, sizes[n-1])
		known := gpuTypes(s.train)
		s.test = slices.DeleteFunc(s.test, func(r data.Measurement) bool { return !slices.Contains(known, r.GPUType) })
		if !s.layouts() { // a layout is predicted only if one was measured
			s.test = slices.DeleteFunc(s.test, func(r data.Measurement) bool { return !r.Plain() })
		}
		if len(s.test) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// upTo divides rows by the number of workers.
func upTo(rows []data.Measurement, workers int) (small, large []data.Measurement) {
	for _, r := range rows {
		if r.Workers <= workers {
			small = append(small, r)
		} else {
			large = append(large, r)
		}
	}
	return small, large
}

func random(j *job, n int, seed uint64) split {
	var rows []data.Measurement
	for _, at := range rand.New(rand.NewPCG(seed, 1)).Perm(len(j.rows)) {
		rows = append(rows, j.rows[at])
	}
	return split{j, fmt.Sprintf("%d rows", n), rows[:n:n], rows[n:]}
}

// adaptdl reads the splits used to score AdaptDL's fit.
func adaptdl(dir string, jobs []*job) ([]split, error) {
	rows, err := byColumn(filepath.Join(dir, "peers", "adaptdl-splits.csv"))
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

// model names the network: jobs of Gavel are a model at one batch.
func (j *job) model() string {
	name, _, _ := strings.Cut(j.name, " (batch size")
	return name
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
		s.train, s.test = upTo(j.rows, 4)
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
