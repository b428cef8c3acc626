package report

import (
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/plots"
)

// Limits of one page. What exceeds them is left out, and the page says so.
const (
	mostRows    = 1000 // of a table
	mostJobs    = 20   // with figures of their own
	mostChecked = 64   // measurements of a job that are predicted from the others
)

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
	t := newTable("job", "#measurements", "#fastest step (s)", "#most workers")
	for _, j := range others[:min(len(others), mostRows)] {
		fastest, most := math.Inf(1), 0
		for _, m := range j.measurements {
			if m.Status == data.OK {
				fastest, most = math.Min(fastest, m.StepTime), max(most, m.Workers)
			}
		}
		t.row(text(j.name), count(len(j.measurements)), figures(fastest), count(most))
	}
	r.Sections = append(r.Sections, Section{Title: fmt.Sprintf("%d more jobs", len(others)),
		Text:   []string{fmt.Sprintf("The %d jobs with most measurements have figures above. For those of another job: knee fit FILE --job NAME, and knee report model.json.", mostJobs)},
		Tables: []Block{{t, cut(len(others), "Jobs"), true}}})
}

// cut adds to a caption that a table has only the first rows.
func cut(rows int, caption string) string {
	if rows <= mostRows {
		return caption
	}
	return fmt.Sprintf("%s: the first %s of %s", caption, plots.Number(mostRows), plots.Number(float64(rows)))
}
