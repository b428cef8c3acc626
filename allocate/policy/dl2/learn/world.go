package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"knee/allocate"
	"knee/allocate/simulate"
	"knee/data"
)

// world is a made-up workload on a made-up cluster.
type world struct {
	jobs []simulate.Job
	set  simulate.Settings
}

// kind is how worlds are made.
type kind struct {
	name string
	// speed is that of n workers relative to one, of a job drawn by rng.
	speed func(rng *rand.Rand) func(n float64) float64
	hours func(rng *rand.Rand) float64 // on one worker
	types int                          // of GPUs, each half as fast as the one before
}

func kinds() []kind {
	amdahl := func(rng *rand.Rand) func(float64) float64 {
		serial := math.Exp(-1 - 3*rng.Float64())
		return func(n float64) float64 { return 1 / (serial + (1-serial)/n) }
	}
	return []kind{
		{"learned from: serial shares, lognormal hours", amdahl, lognormal(1, 1.3), 1},
		{"learned from: the same, two types of GPUs", amdahl, lognormal(2, 1.3), 2},
	}
}

func lognormal(median, sd float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return median * math.Exp(sd*rng.NormFloat64()) }
}

func (k kind) draw(rng *rand.Rand) world {
	nodes, count := 3+rng.IntN(6), 24
	most := min(32, 4*(nodes/k.types)) // GPUs of a type
	cluster := &data.Cluster{}
	for i := range nodes {
		cluster.Nodes = append(cluster.Nodes, data.Node{Name: fmt.Sprintf("n%d", i), GPUType: fmt.Sprintf("g%d", i%k.types), GPUs: 4})
	}
	w := world{set: simulate.Settings{Cluster: cluster, Unvalued: true}}
	w.set.RestartSeconds, w.set.Interval = 30+60*rng.Float64(), 120*float64(rng.IntN(2))
	var work, at float64
	for i := range count {
		hours, speed := min(k.hours(rng), 100), k.speed(rng)
		j := simulate.Job{Name: fmt.Sprintf("j%02d", i), Application: fmt.Sprint(i), Work: hours * 3600, Workers: min(1<<rng.IntN(4), most)}
		for t := range k.types {
			for n := 1; n <= most; n *= 2 {
				c := data.Config{GPUType: fmt.Sprintf("g%d", t), Workers: n}
				j.Options = append(j.Options, simulate.Known(c, speed(float64(n))/float64(int(1)<<t)))
			}
		}
		work += hours
		w.jobs = append(w.jobs, j)
	}
	span := work * 3600 / float64(cluster.Slots()) / (0.4 + rng.Float64()) // the load of the cluster
	for i := range w.jobs {
		w.jobs[i].Submit = at
		at += span / float64(count) * rng.ExpFloat64()
	}
	return w
}

// run replays a world and returns the completion times of its jobs.
func (w world) run(p allocate.Policy) ([]simulate.Outcome, error) {
	w.set.Policy = p
	r, err := simulate.Run(w.jobs, w.set)
	if err != nil {
		return nil, err
	}
	return r.Jobs, nil
}
