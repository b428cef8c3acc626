package learn

import (
	"fmt"
	"maps"
	"slices"

	"knee/data"
	"knee/operate/queue"

	"github.com/dustin/go-humanize/english"
)

// Profile changes a plan that keeps every job: one of them is to run at twice its size,
// on idle GPUs, and be measured there. Of the jobs never measured at that size it is the
// one that saves most time at the lower end of its predicted step time. It returns the
// entry, nil if the plan has other changes or no job saves more than its restart.
func (m *Models) Profile(p *data.Plan, rows []queue.Row, cluster *data.Cluster) *data.PlannedJob {
	if slices.ContainsFunc(p.Jobs, func(j data.PlannedJob) bool { return j.Action != data.Keep }) {
		return nil
	}
	var best *data.PlannedJob
	most := 0.0
	for i := range p.Jobs {
		at := slices.IndexFunc(rows, func(r queue.Row) bool { return r.ID == p.Jobs[i].ID && r.Model != "" })
		if at < 0 {
			continue
		}
		to := twice(rows[at], idle(cluster, rows))
		if gain := m.gain(rows[at], to); gain > most {
			most = gain
			entry := p.Jobs[i]
			entry.Action, entry.Placement, entry.Workers = data.Grow, to, queue.Workers(to)
			entry.LocalBatch *= float64(p.Jobs[i].Workers) / float64(entry.Workers)
			entry.Throughput, entry.Goodput, entry.Finish, entry.Cost = data.Estimate{}, data.Estimate{}, data.Estimate{}, data.Estimate{}
			entry.Reason = fmt.Sprintf("to be measured at %s, on idle GPUs: it may end %.0f s sooner", english.Plural(entry.Workers, "worker", ""), gain)
			best = &entry
		}
	}
	if best != nil {
		p.Jobs[slices.IndexFunc(p.Jobs, func(j data.PlannedJob) bool { return j.ID == best.ID })] = *best
	}
	return best
}

// idle returns the nodes by name, with the GPUs that no job has.
func idle(cluster *data.Cluster, rows []queue.Row) map[string]data.Node {
	out := map[string]data.Node{}
	for _, n := range cluster.Nodes {
		if !n.Drained {
			out[n.Name] = n
		}
	}
	for _, r := range rows {
		for _, s := range r.Nodes {
			if n, ok := out[s.Node]; ok {
				n.GPUs -= s.Workers
				out[s.Node] = n
			}
		}
	}
	return out
}

// twice returns where a job could run at twice its size: on its one node, else
// on twice as many nodes with equally many GPUs on each; nil if nowhere.
func twice(row queue.Row, free map[string]data.Node) []data.NodeShare {
	if row.State != queue.Running || !row.Resizable || len(row.Nodes) == 0 {
		return nil
	}
	each := row.Nodes[0].Workers
	if slices.ContainsFunc(row.Nodes, func(s data.NodeShare) bool { return s.Workers != each || s.PS > 0 }) {
		return nil
	}
	if len(row.Nodes) == 1 && free[row.Nodes[0].Node].GPUs >= each {
		return []data.NodeShare{{Node: row.Nodes[0].Node, Workers: 2 * each}}
	}
	to := slices.Clone(row.Nodes)
	for _, name := range slices.Sorted(maps.Keys(free)) {
		taken := slices.ContainsFunc(row.Nodes, func(s data.NodeShare) bool { return s.Node == name })
		if n := free[name]; len(to) < 2*len(row.Nodes) && !taken && n.GPUs >= each && n.GPUType == row.GPUType {
			to = append(to, data.NodeShare{Node: name, Workers: each})
		}
	}
	if len(to) < 2*len(row.Nodes) {
		return nil
	}
	return to
}

// gain is the time in seconds that a job saves, at the lower end of its predicted step
// time, if it continues on the nodes to, less its restart. It is 0 if the job cannot run
// there or its model has measurements of that size.
func (m *Models) gain(row queue.Row, to []data.NodeShare) float64 {
	workers := queue.Workers(to)
	if len(to) == 0 || row.StepTime <= 0 || row.Rule == nil || row.Rule.Batch.Adapt || row.Rule.Workers.Max > 0 && workers > row.Rule.Workers.Max {
		return 0
	}
	known := m.model(m.Find(&row))
	if known == nil {
		return 0
	}
	c := row.Measured.Config
	c.LocalBatch *= float64(c.Workers) / float64(workers)
	c.Workers, c.Nodes, c.Placement = workers, len(to), data.PlacementOf(to)
	p, err := known.Predict(c)
	if err != nil || slices.ContainsFunc(known.AllMeasurements(), func(r data.Measurement) bool { return sameSize(r.Config, c) }) {
		return 0
	}
	return max(0, (row.Rule.Remaining.Steps-row.Step)*(row.StepTime-p.StepTime.Lo)-row.Rule.RestartSeconds)
}
