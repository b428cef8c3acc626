package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
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
	"knee/data"
	"knee/fit/interference"
)

func (in *simulateFlags) load(ctx context.Context, a *app) error {
	// Written so that NaN is refused too.
	if !(in.Interval >= 0 && in.Restart >= 0 && in.NodeMTBF >= 0 && in.NodeRepair > 0 && in.CheckpointEvery >= 0) {
		return usageError("--interval, --restart, --node-mtbf, --node-repair and --checkpoint-every want seconds")
	}
	if err := in.scale(); err != nil {
		return exitError{err, exitBadInput}
	}
	cluster, err := data.LoadCluster(in.cluster)
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
		in.Cases = append(in.Cases, compare.Case{Name: name, Jobs: jobs, Cluster: cluster})
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
	shares := func(name string) bool {
		p, err := policy.New(name)
		_, packs := p.(simulate.Packer)
		return err == nil && packs
	}
	if in.packed == "" {
		return nil
	}
	if !slices.ContainsFunc(in.Policies, shares) {
		return usageError("--packed: want a policy that shares GPUs: %s", strings.Join(slices.DeleteFunc(policy.Names(), func(name string) bool { return !shares(name) }), ", "))
	}
	rows, warnings, err := interference.Load(in.packed)
	if err != nil {
		return err
	}
	a.warn(warnings...)
	in.Packed = simulate.NewPairs(rows, nil, in.Seed)
	return nil
}

// scale sets the cost of a change of size.
func (in *simulateFlags) scale() error {
	switch {
	case in.scaling == stopResume:
		in.Rescale = 0
	case in.scaling != stopFree:
		return fmt.Errorf("--scaling %q: want %s or %s", in.scaling, stopResume, stopFree)
	case !(in.Rescale >= 0) || math.IsInf(in.Rescale, 0):
		return fmt.Errorf("--rescale-seconds %g: want seconds ≥ 0", in.Rescale)
	}
	in.StopFree = in.scaling == stopFree
	return nil
}

// loadService reads the distribution of service times where a policy needs one:
// from --service-times, else from the published simulator's file beside the
// workload or in the profiles.
func (in *simulateFlags) loadService(a *app) error {
	if in.Semantics != compare.Tiresias || !needsService(in.Policies) {
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

func needsService(policies []string) bool {
	for _, p := range policies {
		if name, _ := tiresias.Canonical(p); name == "dlas-gpu-gittins" {
			return true
		}
	}
	return false
}
