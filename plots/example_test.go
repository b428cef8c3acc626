package plots_test

import (
	"fmt"
	"os"
	"path/filepath"

	"knee/data"
	"knee/plots"
)

// A scaling figure of measured throughput with its prediction and knee. The
// error at the end is what a misspelt number looks like.
func Example() {
	spec := plots.Scalability{
		Title:    "resnet18-cifar10",
		Subtitle: "t4, allreduce, local batch 128",
		Quantity: plots.Throughput,
		Ideal:    true,
		Series: []plots.Series{{
			Name:   "t4",
			Points: []plots.Point{{X: 1, Y: 900}, {X: 2, Y: 1650, Lo: 1600, Hi: 1700}, {X: 4, Y: 2700}, {X: 8, Status: data.OOM}},
			Curve:  []plots.Band{{X: 1, Mean: 905, Lo: 880, Hi: 930}, {X: 2, Mean: 1640, Lo: 1600, Hi: 1680}, {X: 4, Mean: 2710, Lo: 2600, Hi: 2800}},
			Knee:   &plots.Knee{X: 4, Y: 2710},
		}},
	}
	fig, err := plots.NewScalability(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "plots")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	fmt.Println("saved:", plots.Save(filepath.Join(dir, "scaling.svg"), fig) == nil)

	spec.Series[0].Points[1].Y = -1650
	_, err = plots.NewScalability(spec)
	fmt.Println(err)
	// Output:
	// saved: true
	// figure:series[0].points[1].y: found -1650, want a finite number > 0
}
