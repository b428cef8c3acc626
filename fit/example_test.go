package fit_test

import (
	"bytes"
	"fmt"

	"knee/data"
	"knee/fit"
)

// From measurements to a model, its file, and the step time of a configuration
// that was not measured.
func Example() {
	var measured []data.Measurement
	for _, workers := range []int{1, 2, 4, 8} {
		measured = append(measured, data.Measurement{
			Config:   data.Config{Job: "resnet50", GPUType: "a100", Workers: workers, LocalBatch: 64},
			StepTime: 0.150 + 0.010*float64(workers), // s
			Status:   data.OK,
		})
	}
	model, err := fit.Fit(measured, fit.Settings{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if err := fit.EncodeModel(&file, model); err != nil {
		fmt.Println(err)
		return
	}
	if model, err = fit.DecodeModel(&file, "model.json"); err != nil {
		fmt.Println(err)
		return
	}
	p, err := model.Predict(data.Config{GPUType: "a100", Workers: 6, LocalBatch: 64})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("6 workers: %.1f s per step; inside the 90 %% interval: %v\n", p.StepTime.Mean, p.StepTime.Lo < 0.210 && 0.210 < p.StepTime.Hi)
	// Output: 6 workers: 0.2 s per step; inside the 90 % interval: true
}
