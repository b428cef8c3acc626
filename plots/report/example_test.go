package report_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"knee/plots/report"
)

func Example() {
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "simulation.csv")
	rows := "policy,workload,jobs,jct_mean_s\nfifo,tuesday,160,7200\nmarginal-gain,tuesday,160,3600\n"
	if err := os.WriteFile(file, []byte(rows), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	var in report.Inputs
	if err := in.Read(file); err != nil {
		fmt.Println(err)
		return
	}
	r, err := in.Report(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	var page bytes.Buffer
	if err := report.Write(&page, r); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Findings[0])
	// Output: On tuesday marginal-gain has the smallest mean completion time, 1h; fifo has 2h.
}
