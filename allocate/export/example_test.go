package export

import (
	"bytes"
	"fmt"

	"knee/data"
)

// hostfile writes what mpirun reads: a line per node and job with its slots.
func hostfile(p data.Plan) ([]File, error) {
	var files []File
	for _, j := range p.Jobs {
		if j.PS > 0 {
			return nil, fmt.Errorf("job %q uses parameter servers, which a hostfile has no word for", j.Name)
		}
		var lines bytes.Buffer
		for _, s := range j.Placement {
			fmt.Fprintf(&lines, "%s slots=%d\n", s.Node, s.Workers)
		}
		if j.Workers > 0 {
			files = append(files, File{Name: j.Name + ".hostfile", Mode: 0o644, Data: lines.Bytes()})
		}
	}
	return files, nil
}

func Example_ownExporter() {
	files, err := hostfile(data.Plan{Jobs: []data.PlannedJob{
		{Name: "resnet", Workers: 6, Placement: []data.NodeShare{{Node: "a01", Workers: 4}, {Node: "a02", Workers: 2}}},
		{Name: "waits"},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s:\n%s", files[0].Name, files[0].Data)
	// Output:
	// resnet.hostfile:
	// a01 slots=4
	// a02 slots=2
}
