package simulate

import (
	"fmt"
	"io"
	"strings"

	"knee/data"
)

// LoadWorkload reads the workload at path, as [ReadWorkload] does; see
// [data.Open] for "-" and compressed files.
func LoadWorkload(path string) (jobs []Job, warnings []string, err error) {
	f, err := data.Open(path)
	if err != nil {
		return nil, nil, err
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
	c := &data.Cluster{Source: data.Source{File: name}}
	err := data.EachRow(r, name, []string{"num_switch", "num_node_p_switch", "num_gpu_p_node"}, func(row *data.Row) error {
		nodes := row.Required("num_switch", data.Count(1)) * row.Required("num_node_p_switch", data.Count(1))
		gpus := int(row.Required("num_gpu_p_node", data.Count(1)))
		switch {
		case len(c.Nodes) > 0:
			row.Fail("", "a second row", "one row, the cluster")
		case nodes > mostNodes:
			row.Fail("", fmt.Sprintf("%.0f nodes", nodes), fmt.Sprintf("at most %d", mostNodes))
		}
		for i := range int(nodes) {
			if row.Err() != nil {
				break
			}
			c.Nodes = append(c.Nodes, data.Node{Name: fmt.Sprintf("n%d", i), GPUType: "gpu", GPUs: gpus})
		}
		return nil
	})
	if err == nil && len(c.Nodes) == 0 {
		err = &data.InputError{Source: data.Source{File: name}, Found: "no rows", Want: "one row, the cluster"}
	}
	if err != nil {
		return nil, err
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
	var out []int64
	err = data.EachRow(f, path, []string{"duration"}, func(row *data.Row) error {
		out = append(out, int64(row.Required("duration", data.Bounds{What: "GPU-seconds", Min: 1, Max: 1e15, Want: "GPU-seconds ≥ 1"})))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
