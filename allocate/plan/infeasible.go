package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"knee/data"

	"github.com/dustin/go-humanize/english"
)

// whyInfeasible returns why a job does not fit an empty cluster and what to change, after
// the name of the job.
func whyInfeasible(job data.Job, o oracle, in *clusterFit) string {
	room, slots, types := 0, 0, []string{}
	for _, t := range in.types {
		if allowed(job.GPUTypes, t) && allowed(o.GPUTypes(), t) {
			types = append(types, t)
			room = max(room, in.of(t, job.Resources.Worker).Total())
			slots = max(slots, in.of(t, data.Need{}).Total())
		}
	}
	least := max(1, job.Workers.Min)
	if len(types) == 0 {
		return fmt.Sprintf("may run on %s and its model knows %s, and the cluster has %s; profile it on one of these, or allow another",
			anyOf(job.GPUTypes), anyOf(o.GPUTypes()), strings.Join(in.types, ", "))
	}
	on, workers := strings.Join(types, " or "), english.Plural(least, "worker", "")
	switch {
	case room == 0 && slots > 0:
		return fmt.Sprintf("needs %s for each worker, which no node with %s has; lower resources.worker or add larger nodes",
			needText(job.Resources.Worker), on)
	case room == 0:
		return fmt.Sprintf("wants at least %s on %s, and no node of that type is in use; add nodes or take them out of drain", workers, on)
	case room < least && slots >= least:
		return fmt.Sprintf("wants at least %s on %s with %s each, for which no more than %d of %d slots have room; lower workers.min to %d, lower resources.worker or add nodes",
			workers, on, needText(job.Resources.Worker), room, slots, room)
	case room < least:
		return fmt.Sprintf("wants at least %s on %s, where no more than %d fit; lower workers.min to %d or add nodes",
			workers, on, room, room)
	}
	return fmt.Sprintf("has room for %s on %s, but none of its sizes or modes is left to choose from; check workers, modes, ps and the sizes allowed",
		english.Plural(room, "worker", ""), on)
}

// anyOf lists GPU types.
func anyOf(list []string) string {
	if len(list) == 0 {
		return "any GPU type"
	}
	return strings.Join(slices.Sorted(slices.Values(list)), ", ")
}

func needText(n data.Need) string {
	var parts []string
	if n.CPUs > 0 {
		parts = append(parts, fmt.Sprintf("%g %s", n.CPUs, english.PluralWord(int(math.Ceil(n.CPUs)), "core", "")))
	}
	if n.Memory > 0 {
		parts = append(parts, data.FormatQuantity(n.Memory)+" of memory")
	}
	return strings.Join(parts, " and ")
}
