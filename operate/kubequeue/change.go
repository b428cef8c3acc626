package kubequeue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"knee/data"
	"knee/operate/queue"
)

// Check implements [queue.Scheduler].
func (q *Queue) Check(j queue.Job, to []data.NodeShare) string {
	w := j.Handle.(workload)
	if !j.Resizable && queue.Workers(to) != j.Workers {
		return fmt.Sprintf("it stays at %d GPUs: Kubernetes does not change the completions of a Job that has no index for each of its pods", j.Workers)
	}
	if _, err := replicas(w, to); err != nil {
		return err.Error()
	}
	return ""
}

// replicas are the pods of each role of a job on nodes: every role but the last
// keeps what it has.
func replicas(w workload, to []data.NodeShare) ([]int, error) {
	roles, err := w.roles()
	if err != nil || len(roles) == 0 {
		return nil, errors.Join(errors.New("it has no pod template"), err)
	}
	each := max(1, roles[len(roles)-1].gpus)
	pods := 0
	for _, s := range to {
		if s.PS > 0 {
			return nil, errors.New("it has no parameter servers")
		}
		if s.Workers%each != 0 {
			return nil, fmt.Errorf("its pods have %d GPUs each, and %d on node %s is no multiple", each, s.Workers, s.Node)
		}
		pods += s.Workers / each
	}
	out := make([]int, len(roles))
	for i, r := range roles {
		out[i] = r.pods
		if i == len(roles)-1 {
			out[i] = pods
		}
		if r.gpus > 0 {
			pods -= out[i]
		}
	}
	last := out[len(out)-1]
	if last < 0 {
		return nil, fmt.Errorf("it has at least %d pods", len(roles)-1)
	}
	limits, _ := at(w.Spec, w.kind.limits).(map[string]any)
	for key, wrong := range map[string]func(limit int) bool{
		"minReplicas": func(l int) bool { return last < l },
		"maxReplicas": func(l int) bool { return last > l },
	} {
		if limit, ok := limits[key].(float64); ok && wrong(int(limit)) {
			return nil, fmt.Errorf("%d replicas are beyond its %s, %v", last, key, limit)
		}
	}
	return out, nil
}

// requested reads what the owner of a job asked for before knee changed it.
func requested(w workload) []int {
	var out []int
	for part := range strings.SplitSeq(w.Metadata.Annotations[askedFor], ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// note writes down what the owner of a job asks for, unless it is written there.
func note(notes map[string]any, w workload, roles []role) {
	if requested(w) != nil {
		return
	}
	var counts []string
	for _, r := range roles {
		counts = append(counts, strconv.Itoa(r.pods))
	}
	notes[askedFor] = strings.Join(counts, ",")
}

// Ended implements [queue.Scheduler].
func (q *Queue) Ended(ctx context.Context, j queue.Job) (well bool, how string) {
	w := j.Handle.(workload)
	now := workload{}
	if err := q.client.Get(ctx, w.path(), &now); err != nil {
		return false, err.Error()
	}
	for _, c := range now.Status.Conditions {
		if c.Status == "True" && (c.Type == "Complete" || c.Type == "Succeeded") {
			return true, c.Type
		}
		if c.Status == "True" && c.Type == "Failed" {
			how = c.Type + ": " + c.Message
		}
	}
	return false, how
}

// Hold implements [queue.Scheduler].
func (q *Queue) Hold(ctx context.Context, j queue.Job) error {
	w := j.Handle.(workload)
	roles, err := w.roles()
	if err != nil {
		return err
	}
	notes := map[string]any{heldBy: "true"}
	note(notes, w, roles)
	spec := map[string]any{}
	put(spec, w.kind.suspend, true)
	return q.patch(ctx, j, w, notes, spec)
}

// Start implements [queue.Scheduler].
func (q *Queue) Start(ctx context.Context, j queue.Job, to []data.NodeShare) error {
	w := j.Handle.(workload)
	fresh := workload{}
	if err := q.client.Get(ctx, w.path(), &fresh); err != nil {
		return err
	}
	fresh.kind = w.kind
	switch {
	case fresh.Metadata.UID != j.ID:
		return errors.New("another job has its name now")
	case j.InPlace:
		return q.resize(ctx, j, fresh, to)
	case !fresh.suspended():
		return errors.New("it is not suspended")
	}
	roles, err := fresh.roles()
	if err != nil {
		return err
	}
	counts := requested(fresh)
	if len(to) > 0 {
		counts, err = replicas(fresh, to)
	}
	if err != nil || len(counts) != len(roles) {
		return errors.Join(errors.New("how many pods it should have is not known"), err)
	}
	nodes := []string{}
	for _, s := range to {
		nodes = append(nodes, s.Node)
	}
	was := strings.Split(fresh.Metadata.Annotations[boundTo], ",")
	notes := map[string]any{heldBy: nil, boundTo: nil}
	if len(nodes) > 0 {
		notes[boundTo] = strings.Join(nodes, ",")
	}
	spec := map[string]any{}
	put(spec, fresh.kind.suspend, false)
	if list, ok := at(fresh.Spec, fresh.kind.list).([]any); ok && len(list) > 0 {
		put(spec, fresh.kind.list, clone(list))
	}
	fresh.resize(spec, roles, counts)
	for _, r := range roles {
		template, _ := at(fresh.Spec, r.template).(map[string]any)
		had := at(template, affinityPath) != nil
		switch terms := bound(template, was, nodes); {
		case terms != nil:
			put(spec, append(slices.Clone(r.template), affinityPath...), terms)
		case had:
			put(spec, append(slices.Clone(r.template), affinityPath[:len(affinityPath)-1]...), nil)
		}
	}
	return q.patch(ctx, j, fresh, notes, spec)
}

// resize gives a job that is changed in place another number of pods, as many
// as its owner asked for if there are no nodes.
func (q *Queue) resize(ctx context.Context, j queue.Job, w workload, to []data.NodeShare) error {
	roles, err := w.roles()
	if err != nil {
		return err
	}
	counts := requested(w)
	if len(to) > 0 {
		counts, err = replicas(w, to)
	}
	switch {
	case err != nil:
		return err
	case !w.suspended() && !elastic(w):
		return errors.New("it has been admitted meanwhile")
	case len(counts) != len(roles):
		return errors.New("how many pods its owner asked for is not known")
	}
	notes, spec := map[string]any{}, map[string]any{}
	note(notes, w, roles)
	if list, ok := at(w.Spec, w.kind.list).([]any); ok && len(list) > 0 {
		put(spec, w.kind.list, clone(list))
	}
	w.resize(spec, roles, counts)
	return q.patch(ctx, j, w, notes, spec)
}

// patch changes a job as it was read, and has it written down.
func (q *Queue) patch(ctx context.Context, j queue.Job, w workload, notes, spec map[string]any) error {
	fields := map[string]any{"metadata": map[string]any{"annotations": notes, "resourceVersion": w.Metadata.ResourceVersion, "uid": w.Metadata.UID}, "spec": spec}
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	c := queue.Command{Job: j.ID, Name: j.Namespace + "/" + j.Name, Command: []string{"PATCH", w.path(), string(text)}}
	return queue.Audited(q.audit, c, func() (string, error) { return "", q.client.Patch(ctx, w.path(), fields, nil) })
}
