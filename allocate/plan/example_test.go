package plan_test

import (
	"fmt"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
	"knee/fit"
	"knee/predict"
)

// Two jobs share eight GPUs: one scales well, of the other a step takes longer
// with every worker.
func Example() {
	perWorker := map[string]float64{"scales": 0.001, "does not": 0.1} // s that each further worker costs
	problem := plan.Problem{
		Cluster:    &data.Cluster{Nodes: []data.Node{{Name: "n1", GPUType: "a100", GPUs: 8, CPUs: 64}}},
		Objective:  "goodput",
		Predictors: map[string]*predict.Predictor{},
	}
	for _, name := range []string{"scales", "does not"} {
		var measured []data.Measurement
		for _, workers := range []int{1, 2, 4, 8} {
			measured = append(measured, data.Measurement{
				Config:   data.Config{Job: name, GPUType: "a100", Workers: workers, LocalBatch: 64},
				StepTime: 0.1 + perWorker[name]*float64(workers), Status: data.OK,
			})
		}
		model, err := fit.Fit(measured, fit.Settings{Seed: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		problem.Predictors[name] = &predict.Predictor{Model: model}
		problem.Jobs = append(problem.Jobs, data.Job{Name: name, Remaining: data.Remaining{Steps: 10_000}, Workers: data.IntRange{Min: 1, Max: 8}, Batch: data.Batch{Initial: 64}})
	}
	made, err := policy.Solve(problem)
	if err != nil {
		fmt.Println(err)
		return
	}
	workers := map[string]int{}
	for _, j := range made.Jobs {
		workers[j.Name] = j.Workers
	}
	fmt.Println("the job that scales gets most:", workers["scales"] > workers["does not"])
	fmt.Println("no plan is better by more than 10 %:", made.Gap < 0.1)
	// Output:
	// the job that scales gets most: true
	// no plan is better by more than 10 %: true
}
