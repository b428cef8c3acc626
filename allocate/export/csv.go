package export

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"knee/data"
	"knee/internal/list"
)

func planCSV(p data.Plan) ([]File, error) {
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(Rows(&p)); err != nil {
		return nil, fmt.Errorf("export to csv: %w", err)
	}
	return []File{{Name: "plan.csv", Mode: 0o644, Data: b.Bytes()}}, nil
}

// Rows returns a plan as a table: a header and a row for each job, idle ones included.
// Nodes are node=workers+ps pairs separated by semicolons; unknown numbers are empty.
// Layout columns appear if a job has a layout.
func Rows(p *data.Plan) [][]string {
	head := []string{"job", "action", "workers", "ps", "gpu_type", "mode", "local_batch", "accum_steps", "nodes"}
	for _, of := range [][2]string{{"throughput", ""}, {"goodput", ""}, {"finish", "_s"}, {"cost", "_usd"}} {
		head = append(head, of[0]+of[1], of[0]+"_lo"+of[1], of[0]+"_hi"+of[1])
	}
	head = append(head, "gain_last", "gain_next", "extrapolated", "was", "reason")
	layouts := slices.ContainsFunc(p.Jobs, func(j data.PlannedJob) bool { return !j.Plain() })
	if layouts {
		head = append(head, data.LayoutNames()...)
	}
	rows := [][]string{head}
	for _, j := range p.Jobs {
		row := []string{j.Name, string(j.Action), strconv.Itoa(j.Workers), strconv.Itoa(j.PS), j.GPUType, string(j.Mode),
			figure(j.LocalBatch), strconv.Itoa(j.AccumSteps), placement(j.Placement, ";")}
		for _, e := range []data.Estimate{j.Throughput, j.Goodput, j.Finish, j.Cost} {
			row = append(row, figure(e.Mean), figure(e.Lo), figure(e.Hi))
		}
		row = append(row, figure(j.MarginalGain.Last), figure(j.MarginalGain.Next), strconv.FormatBool(j.Extrapolated), placement(j.Was, ";"), j.Reason)
		for _, name := range data.LayoutNames() {
			if layouts {
				row = append(row, j.Get(name))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// figure formats a number, empty if it is 0.
func figure(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 8, 64)
}

// placement writes node=workers+ps pairs.
func placement(shares []data.NodeShare, between string) string {
	pair := func(s data.NodeShare) string { return fmt.Sprintf("%s=%d+%d", s.Node, s.Workers, s.PS) }
	return strings.Join(list.Map(shares, pair), between)
}

func planJSON(p data.Plan) ([]File, error) {
	var b bytes.Buffer
	err := data.WritePlan(&b, &p)
	return []File{{Name: "plan.json", Mode: 0o644, Data: b.Bytes()}}, err
}
