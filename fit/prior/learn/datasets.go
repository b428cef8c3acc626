package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"knee/data"
	"knee/internal/grouped"
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
	for _, s := range sources() {
		files, err := filepath.Glob(filepath.Join(dir, s.pattern))
		if err != nil {
			return nil, err
		}
		var rows []data.Measurement
		for _, f := range files {
			ms, err := s.read(f)
			if err != nil {
				return nil, err
			}
			rows = append(rows, ok(ms)...)
		}
		names, of := grouped.By(rows, func(m data.Measurement) string { return m.Job })
		for _, name := range names {
			jobs = append(jobs, &job{s.dataset, name, of[name]})
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

// ok returns the measurements that ended.
func ok(ms []data.Measurement) []data.Measurement {
	return slices.DeleteFunc(slices.Clone(ms), func(m data.Measurement) bool { return m.Status != data.OK })
}

// plans reads a table of training plans, with degrees of parallelism as knobs.
func plans(path string) ([]data.Measurement, error) {
	ms, err := plain(path)
	for i, m := range ms {
		if m.MicroUnknown {
			m.LocalBatch = m.GlobalBatch() / float64(m.Workers)
		}
		m = knobbed(m, "tp", "pp", "cp", "sharding", "recompute", "offload")
		m.Architecture = data.Architecture{}
		ms[i] = m
	}
	return ms, err
}

// knobbed returns a measurement with parts of its layout as knobs, and no layout.
func knobbed(m data.Measurement, parts ...string) data.Measurement {
	extra := map[string]string{}
	maps.Copy(extra, m.Extra)
	for _, name := range parts {
		extra[name] = m.Get(name)
	}
	m.Extra, m.Layout = extra, data.Layout{}
	return m
}

// gavel reads mini-batches per second, summed over workers with a batch each.
func gavel(path string) (ms []data.Measurement, err error) {
	err = eachRow(path, func(r *data.Row) error {
		if rate, k := r.Number("steps_per_s", 0, data.NonNegative("a rate")), r.Whole("scale_factor", 1); rate > 0 {
			ms = append(ms, data.Measurement{Status: data.OK, StepTime: float64(k) / rate, Config: data.Config{
				Job: r.Text("job_type"), GPUType: r.Text("gpu_type"), Workers: k, LocalBatch: r.Number("batch_size", 0, data.Samples())}})
		}
		return nil
	})
	return ms, err
}

// eachRow calls do for every row of a CSV file.
func eachRow(path string, do func(*data.Row) error) error {
	_, err := data.Load(path, func(r io.Reader, name string) (struct{}, error) {
		return struct{}{}, data.EachRow(r, name, nil, do)
	})
	return err
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
			types, of := byType(j.rows)
			for _, gpu := range types {
				all = append(all, sizeSplits(j, of[gpu])...)
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
	for _, j := range jobs {
		if small, large := upTo(j.rows, 4); j.dataset == "vtrain-single layouts" && len(small) > 0 && len(large) > 0 {
			all = append(all, split{j, "few GPUs", small, large})
		}
	}
	all = append(all, unseenSizes(jobs)...)
	all = append(all, oneValue(jobs)...)
	for _, j := range jobs {
		all = append(all, secondType(j)...)
	}
	more, err := adaptdl(dir, jobs)
	return append(all, more...), err
}

func byType(rows []data.Measurement) (types []string, of map[string][]data.Measurement) {
	return grouped.By(rows, func(m data.Measurement) string { return m.GPUType })
}

func gpuTypes(rows []data.Measurement) []string {
	types, _ := byType(rows)
	return types
}

// sizeSplits predict the larger sizes of a series from the one to three smallest.
func sizeSplits(j *job, rows []data.Measurement) []split {
	sizes, _ := grouped.By(rows, func(m data.Measurement) int { return m.Workers })
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
func adaptdl(dir string, jobs []*job) (all []split, err error) {
	files := map[string][]data.Measurement{}
	pick := func(file, list string) (out []data.Measurement, err error) {
		if files[file] == nil {
			files[file], err = plain(filepath.Join(dir, file))
		}
		for _, w := range strings.Fields(list) {
			i, notNumber := strconv.Atoi(w)
			if err = cmp.Or(err, notNumber); err != nil {
				return nil, err
			}
			out = append(out, files[file][i])
		}
		return out, err
	}
	err = eachRow(filepath.Join(dir, "peers", "adaptdl-splits.csv"), func(r *data.Row) error {
		s := split{protocol: r.Text("split") + " " + r.Text("cluster")}
		for _, j := range jobs {
			if j.dataset == "allreduce" && j.name == r.Text("job") {
				s.job = j
			}
		}
		var err, err2 error
		s.train, err = pick(r.Text("train_file"), r.Text("train_rows"))
		s.test, err2 = pick(r.Text("test_file"), r.Text("test_rows"))
		all = append(all, s)
		return cmp.Or(err, err2)
	})
	return all, err
}

// secondType predicts each GPU type of a job from all rows of another and three
// of its own; for Gavel, from its smallest size.
func secondType(j *job) []split {
	var all []split
	types, of := byType(j.rows)
	for _, known := range types {
		for t, gpu := range types {
			own, other, n := of[gpu], of[known], 1
			if j.dataset != "gavel" {
				own, n = some(own, len(own)-1, uint64(t)), 3
			} else if strings.Contains(known+gpu, "_") { // several nodes, named like a type
				continue
			}
			if gpu == known || len(own) < n+2 || len(other) < 3 {
				continue
			}
			s := split{job: j, protocol: "second type"}
			s.train, s.test = slices.Concat(some(other, maxTrain, 1), own[:n]), own[n:]
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

// unseenSizes predicts the plans of a model from those of all other sizes, as one job.
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
