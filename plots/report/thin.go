package report

import (
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/plots"
)

// What one page holds: what is beyond is said and left out, for nobody reads
// two thousand figures, nor sees two hundred thousand points apart.
const (
	mostRows    = 1000 // of a table
	mostJobs    = 20   // with figures of their own
	mostConfigs = 64   // of a job that are fitted for the page
)

// representative returns measurements that a page can be drawn from: those of
// one configuration become their mean, and of more configurations than fit
// every so many-th is taken, in order of appearance. note says so; it is
// empty if ms is returned as it is.
func representative(ms []data.Measurement) (rows []data.Measurement, note string) {
	if len(ms) <= mostConfigs {
		return ms, ""
	}
	var order []string
	of := map[string][]data.Measurement{}
	for _, m := range ms {
		if m.Status != data.OK {
			continue
		}
		key := m.Config.Key()
		if of[key] == nil {
			order = append(order, key)
		}
		of[key] = append(of[key], m)
	}
	for i := range min(len(order), mostConfigs) {
		rows = append(rows, mean(of[order[i*len(order)/min(len(order), mostConfigs)]]))
	}
	if len(rows) == 0 || len(rows) == len(ms) {
		return ms, ""
	}
	return rows, fmt.Sprintf("%d of %d configurations were fitted for this page, each as the mean of its measurements, %d in all. knee fit takes them all.",
		len(rows), len(order), len(ms))
}

// mean is one measurement in place of several of a configuration.
func mean(ms []data.Measurement) data.Measurement {
	out := ms[0]
	var sum, square, sync, steps, error2 float64
	for _, m := range ms {
		n := float64(max(m.Steps, 1))
		sum, sync, steps = sum+n*m.StepTime, sync+n*m.SyncTime, steps+n
		error2 += n * n * m.StandardError() * m.StandardError()
		square += n * (m.StepTime*m.StepTime + m.StepTimeSD*m.StepTimeSD)
	}
	out.StepTime, out.SyncTime = sum/steps, sync/steps
	out.StepTimeSD = math.Sqrt(max(0, square/steps-out.StepTime*out.StepTime))
	out.StepTimeSE = math.Sqrt(error2) / steps
	out.Steps = int(min(steps, 1e9))
	return out
}

// shownJobs returns the jobs that get a section of their own, those with most
// measurements, and the others.
func shownJobs(all []*job) (shown, others []*job) {
	if len(all) <= mostJobs {
		return all, nil
	}
	bySize := slices.Clone(all)
	slices.SortStableFunc(bySize, func(a, b *job) int { return len(b.measurements) - len(a.measurements) })
	return bySize[:mostJobs], bySize[mostJobs:]
}

// reportOthers adds a table of the jobs that get no section.
func reportOthers(r *Report, others []*job) {
	if len(others) == 0 {
		return
	}
	t := &Table{Columns: append(columns("job"), numeric("measurements", "fastest step (s)", "most workers")...)}
	for _, j := range others[:min(len(others), mostRows)] {
		fastest, most := math.NaN(), 0
		for _, m := range j.measurements {
			if m.Status == data.OK {
				fastest, most = math.Min(m.StepTime, orValue(fastest, m.StepTime)), max(most, m.Workers)
			}
		}
		t.row(text(j.name), count(len(j.measurements)), figures(fastest), count(most))
	}
	r.Sections = append(r.Sections, Section{Title: fmt.Sprintf("%d more jobs", len(others)),
		Text:   []string{fmt.Sprintf("The %d jobs with most measurements have figures above. For those of another job: knee fit FILE --job NAME, and knee report model.json.", mostJobs)},
		Tables: []Block{{t, cut(len(others), "Jobs"), true}}})
}

// orValue returns v, otherwise where v is NaN.
func orValue(v, otherwise float64) float64 {
	if math.IsNaN(v) {
		return otherwise
	}
	return v
}

// cut says in a caption that a table is not all there is.
func cut(rows int, caption string) string {
	if rows <= mostRows {
		return caption
	}
	return fmt.Sprintf("%s: the first %s of %s", caption, plots.Number(mostRows), plots.Number(float64(rows)))
}
