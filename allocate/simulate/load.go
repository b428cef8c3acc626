package simulate

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"knee/data"
)

// LoadWorkload reads the workload at path, as [ReadWorkload] does; see
// [data.Open] for "-" and compressed files.
func LoadWorkload(path string) ([]Job, error) {
	f, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadWorkload(f, path)
}

// LoadCluster reads a cluster: cluster.yaml, or where the name ends in .csv
// the form of Tiresias' simulator, a row of num_switch, num_node_p_switch and
// num_gpu_p_node.
func LoadCluster(path string) (*data.Cluster, error) {
	if !strings.HasSuffix(path, ".csv") {
		return data.LoadCluster(path)
	}
	f, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readClusterCSV(f, path)
}

// mostNodes bounds what a cluster CSV may ask for.
const mostNodes = 1_000_000

func readClusterCSV(r io.Reader, name string) (*data.Cluster, error) {
	columns := []string{"num_switch", "num_node_p_switch", "num_gpu_p_node"}
	counts := make([]int, len(columns))
	rows, err := numbers(r, name, columns)
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 {
		return nil, &data.InputError{Source: data.Source{File: name}, Found: fmt.Sprintf("%d rows", len(rows)), Want: "one row, the cluster"}
	}
	for i, v := range rows[0] {
		if v < 1 || v > mostNodes || v != math.Trunc(v) {
			return nil, &data.InputError{Source: data.Source{File: name, Line: 2, Column: columns[i]}, Found: fmt.Sprint(v), Want: "a whole number ≥ 1"}
		}
		counts[i] = int(v)
	}
	if counts[0]*counts[1] > mostNodes {
		return nil, &data.InputError{Source: data.Source{File: name, Line: 2}, Found: fmt.Sprintf("%d nodes", counts[0]*counts[1]), Want: fmt.Sprintf("at most %d", mostNodes)}
	}
	c := &data.Cluster{Source: data.Source{File: name}}
	for i := range counts[0] * counts[1] {
		c.Nodes = append(c.Nodes, data.Node{Name: fmt.Sprintf("n%d", i), GPUType: "gpu", GPUs: counts[2]})
	}
	return c, nil
}

// LoadServiceTimes reads the column duration of a CSV file: a sample of the
// GPU-seconds that jobs need. Fractions are dropped.
func LoadServiceTimes(path string) ([]int64, error) {
	f, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := numbers(f, path, []string{"duration"})
	if err != nil {
		return nil, err
	}
	var out []int64
	for i, r := range rows {
		if !(r[0] >= 1 && r[0] < 1e15) {
			return nil, &data.InputError{Source: data.Source{File: path, Line: i + 2, Column: "duration"}, Found: fmt.Sprint(r[0]), Want: "GPU-seconds ≥ 1"}
		}
		out = append(out, int64(r[0]))
	}
	return out, nil
}

// numbers reads the named columns of a CSV file.
func numbers(r io.Reader, name string, columns []string) ([][]float64, error) {
	records, err := data.ReadRecords(r, name)
	if err != nil {
		return nil, err
	}
	rows := append([][]string{records.Header}, records.Rows...)
	if len(rows) == 0 {
		return nil, &data.InputError{Source: data.Source{File: name, Line: 1}, Found: "an empty file", Want: "a header with " + strings.Join(columns, ", ")}
	}
	at := make([]int, len(columns))
	for i, want := range columns {
		at[i] = -1
		for k, h := range rows[0] {
			if strings.TrimSpace(h) == want {
				at[i] = k
			}
		}
		if at[i] < 0 {
			return nil, &data.InputError{Source: data.Source{File: name, Line: 1}, Found: "columns " + strings.Join(rows[0], ", "), Want: "a column " + want}
		}
	}
	var out [][]float64
	for n, row := range rows[1:] {
		values := make([]float64, len(columns))
		for i, k := range at {
			v, err := strconv.ParseFloat(strings.TrimSpace(row[k]), 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, &data.InputError{Source: data.Source{File: name, Line: n + 2, Column: columns[i]}, Found: strconv.Quote(row[k]), Want: "a number"}
			}
			values[i] = v
		}
		out = append(out, values)
	}
	return out, nil
}
