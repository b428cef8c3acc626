package convergence_test

import (
	"fmt"
	"math"

	"knee/data"
	"knee/fit/convergence"
)

// From the losses of a run so far to the steps until a target is reached.
func ExampleFit() {
	var run []data.CurvePoint
	for step := 100.0; step <= 3000; step += 100 {
		nan := math.NaN() // not recorded
		run = append(run, data.CurvePoint{Step: step, Loss: 0.2 + 2/(1+step/500), Epoch: nan, Progress: nan, Metric: nan, GradSqr: nan, GradVar: nan})
	}
	curve, err := convergence.Fit(run, 64, convergence.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	at, err := curve.Target(0.4) // that of the formula: 4500 steps
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: inside the 90 %% interval: %v; probable: %v\n", at.Method, at.Steps.Lo < 4500 && 4500 < at.Steps.Hi, at.Chance > .5)
	// Output: curve-horizon: inside the 90 % interval: true; probable: true
}
