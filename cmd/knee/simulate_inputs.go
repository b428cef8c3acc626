package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"knee/allocate/policy"
	"knee/allocate/simulate"
	"knee/allocate/simulate/compare"
	"knee/allocate/simulate/measured"
	"knee/allocate/simulate/modelled"
	"knee/allocate/simulate/tiresias"
	"knee/fit/interference"
)

func (in *simulateFlags) load(ctx context.Context, a *app) error {
	for _, v := range append(append([]float64{}, in.loads...), in.sizes...) {
		if !(v > 0) || v > 1e6 {
			return usageError("--load %v --size %v: want factors > 0", in.loads, in.sizes)
		}
	}
	if in.StopFree = in.scaling == stopFree; !in.StopFree {
		in.Rescale = 0
	}
	cluster, err := simulate.LoadCluster(in.cluster)
	if err != nil {
		return err
	}
	if in.profiles != "" && in.Semantics != compare.Tiresias {
		if in.Profiles, err = measured.Load(in.profiles); err != nil {
			return err
		}
		a.warn(in.Profiles.Warnings...)
	}
	if err := in.loadModels(ctx, a); err != nil {
		return err
	}
	if err := in.loadPairs(a); err != nil {
		return err
	}
	for _, file := range in.workloads {
		jobs, warnings, err := simulate.LoadWorkload(file)
		if err != nil {
			return err
		}
		a.warn(warnings...)
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".gz"), ".csv")
		for _, load := range in.loads {
			for _, size := range in.sizes {
				in.Cases = append(in.Cases, compare.NewCase(name, jobs, cluster, load, size))
			}
		}
	}
	return in.loadService(a)
}

func (in *simulateFlags) loadModels(ctx context.Context, a *app) (err error) {
	if in.oracle && (in.models == "" || in.measurements == "") {
		return usageError("--oracle: want --models and --measurements")
	}
	switch {
	case in.models != "":
		if in.Models, err = modelled.Load(in.models, in.Seed); err == nil && in.measurements != "" {
			warnings, measureErr := in.Models.Measure(in.measurements, in.oracle)
			a.warn(warnings...)
			return measureErr
		}
	case in.measurements != "":
		var warnings []string
		in.Models, warnings, err = modelled.Fit(ctx, in.measurements, in.Seed)
		a.warn(warnings...)
	}
	return err
}

func (in *simulateFlags) loadPairs(a *app) error {
	if in.packed == "" {
		return nil
	}
	alone := func(name string) bool { // whether a policy gives GPUs to one job only
		p, err := policy.New(name)
		_, packs := p.(simulate.Packer)
		return err != nil || !packs
	}
	if len(slices.DeleteFunc(slices.Clone(in.Policies), alone)) == 0 {
		return usageError("--packed: want a policy that shares GPUs: %s", strings.Join(slices.DeleteFunc(policy.Names(), alone), ", "))
	}
	rows, warnings, err := interference.Load(in.packed)
	if err != nil {
		return err
	}
	a.warn(warnings...)
	in.Packed = simulate.NewPairs(rows, nil, in.Seed)
	return nil
}

// loadService reads the distribution of service times where a policy needs one:
// from --service-times, else from the published simulator's file beside the
// workload or in the profiles.
func (in *simulateFlags) loadService(a *app) error {
	gittins := func(policy string) bool {
		name, _ := tiresias.Canonical(policy)
		return name == "dlas-gpu-gittins"
	}
	if in.Semantics != compare.Tiresias || !slices.ContainsFunc(in.Policies, gittins) {
		return nil
	}
	candidates := []string{in.service}
	if in.service == "" {
		const published = "yarn-gput1000.csv"
		candidates = []string{filepath.Join(filepath.Dir(in.workloads[0]), published)}
		if in.profiles != "" {
			candidates = append(candidates, filepath.Join(in.profiles, published), filepath.Join(in.profiles, "workloads", "tiresias", published))
		}
	}
	for _, file := range candidates {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) && in.service == "" {
			continue
		}
		service, err := simulate.LoadServiceTimes(file)
		if err != nil {
			return err
		}
		if in.service == "" {
			a.note("service times for the Gittins index from %s", file)
		}
		in.Service = service
		return nil
	}
	return usageError("the Gittins index needs --service-times, a CSV with a column duration; there is none at %s", strings.Join(candidates, " nor "))
}
