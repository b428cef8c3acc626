package simulate

import (
	"fmt"
	"strings"

	"knee/data"
)

// LoadWorkload reads the workload at path, as [ReadWorkload] does; see
// [data.Open] for "-" and compressed files.
func LoadWorkload(path string) (jobs []Job, warnings []string, err error) {
	return data.LoadTable(path, ReadWorkload)
}

// LoadCluster reads a cluster: cluster.yaml, or where the name ends in .csv
// the form of Tiresias' simulator, a row of num_switch, num_node_p_switch and
// num_gpu_p_node.
func LoadCluster(path string) (*data.Cluster, error) {
	if !strings.HasSuffix(path, ".csv") {
		return data.LoadCluster(path)
	}
	const most = 1_000_000 // nodes
	c := &data.Cluster{Source: data.Source{File: path}}
	err := EachRow(path, []string{"num_switch", "num_node_p_switch", "num_gpu_p_node"}, func(row *data.Row) error {
		nodes := row.Required("num_switch", data.Count(1)) * row.Required("num_node_p_switch", data.Count(1))
		gpus := int(row.Required("num_gpu_p_node", data.Count(1)))
		switch {
		case len(c.Nodes) > 0:
			row.Fail("", "a second row", "one row, the cluster")
		case nodes > most:
			row.Fail("", fmt.Sprintf("%.0f nodes", nodes), fmt.Sprintf("at most %d", most))
		}
		if row.Err() != nil {
			return nil
		}
		for i := range int(nodes) {
			c.Nodes = append(c.Nodes, data.Node{Name: fmt.Sprintf("n%d", i), GPUType: "gpu", GPUs: gpus})
		}
		return nil
	})
	if err == nil && len(c.Nodes) == 0 {
		err = &data.InputError{Source: data.Source{File: path}, Found: "no rows", Want: "one row, the cluster"}
	}
	return c, err
}

// LoadServiceTimes reads the column duration of a CSV file: a sample of the
// GPU-seconds that jobs need. Fractions are dropped.
func LoadServiceTimes(path string) (out []int64, err error) {
	err = EachRow(path, []string{"duration"}, func(row *data.Row) error {
		out = append(out, int64(row.Required("duration", data.Bounds{What: "GPU-seconds", Min: 1, Max: 1e15, Want: "GPU-seconds ≥ 1"})))
		return nil
	})
	return out, err
}

// EachRow is [data.EachRow] on the file at path.
func EachRow(path string, columns []string, do func(*data.Row) error) error {
	f, err := data.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return data.EachRow(f, path, columns, do)
}
