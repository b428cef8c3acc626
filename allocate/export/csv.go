package export

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"knee/data"
)

// CSV writes one row per job, paused ones included. The column nodes holds
// node=workers+ps pairs separated by semicolons.
type CSV struct{}

// Export implements [Exporter].
func (CSV) Export(p data.Plan) ([]File, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{"job", "action", "gpu_type", "mode", "workers", "ps", "placement", "nodes", "local_batch", "accum_steps",
		"throughput", "throughput_lo", "throughput_hi", "goodput", "goodput_lo", "goodput_hi",
		"finish_s", "cost_usd", "gain_last", "gain_next", "extrapolated", "reason"}}
	for _, j := range p.Jobs {
		rows = append(rows, csvRow(j))
	}
	if err := w.WriteAll(rows); err != nil {
		return nil, fmt.Errorf("export to csv: %w", err)
	}
	return []File{{Name: "plan.csv", Mode: 0o644, Data: b.Bytes()}}, nil
}

func csvRow(j data.PlannedJob) []string {
	var shape data.Placement
	var nodes []string
	for _, s := range j.Placement {
		if s.Workers > 0 {
			shape = append(shape, s.Workers)
		}
		nodes = append(nodes, fmt.Sprintf("%s=%d+%d", s.Node, s.Workers, s.PS))
	}
	num := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return []string{j.Name, string(j.Action), j.GPUType, string(j.Mode), strconv.Itoa(j.Workers), strconv.Itoa(j.PS),
		shape.String(), strings.Join(nodes, ";"), num(j.LocalBatch), strconv.Itoa(j.AccumSteps),
		num(j.Throughput.Mean), num(j.Throughput.Lo), num(j.Throughput.Hi), num(j.Goodput.Mean), num(j.Goodput.Lo), num(j.Goodput.Hi),
		num(j.Finish.Mean), num(j.Cost.Mean), num(j.MarginalGain.Last), num(j.MarginalGain.Next),
		strconv.FormatBool(j.Extrapolated), j.Reason}
}
