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

	"github.com/dustin/go-humanize/english"
	"k8s.io/apimachinery/pkg/runtime"
)

func (q *Queue) Check(j queue.Job, to []data.NodeShare) string {
	w := j.Handle.(workload)
	if !j.Resizable && queue.Workers(to) != j.Workers {
		return fmt.Sprintf("it stays at %s: Kubernetes does not change the completions of a Job that has no index for each of its pods", english.Plural(j.Workers, "GPU", ""))
	}
	if _, err := replicas(w, to); err != nil {
		return err.Error()
	}
	if j.InPlace {
		return ""
	}
	roles, _ := w.roles() // no error: replicas has read them
	return q.unusable(w, roles, to)
}

// replicas returns the number of pods of each role of a job on nodes. Only the
// last role is resized.
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
			return nil, fmt.Errorf("its pods have %s each, of which %d on node %s is no multiple", english.Plural(each, "GPU", ""), s.Workers, s.Node)
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
		return nil, fmt.Errorf("it has at least %s", english.Plural(len(roles)-1, "pod", ""))
	}
	limits, _ := at(w.Spec, w.kind.limits).(map[string]any)
	for key, wrong := range map[string]func(limit int) bool{
		"minReplicas": func(l int) bool { return last < l },
		"maxReplicas": func(l int) bool { return last > l },
	} {
		if limit, ok := limits[key].(float64); ok && wrong(int(limit)) {
			return nil, fmt.Errorf("%s beyond its %s, %v", english.Plural(last, "replica", ""), key, limit)
		}
	}
	return out, nil
}

// requested is the pods of each role that the owner requested, nil if knee has not
// changed the job.
func requested(w workload) []int {
	var out []int
	for part := range strings.SplitSeq(w.Annotations[askedFor], ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// note adds the annotation of what the owner requested, unless the job has it.
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

func (q *Queue) Ended(ctx context.Context, j queue.Job) (well bool, how string) {
	w := j.Handle.(workload)
	now := workload{}
	if err := q.client.Get(ctx, w.path(), &now); err != nil {
		return false, err.Error()
	}
	how, well = now.verdict()
	return well, how
}

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

func (q *Queue) Start(ctx context.Context, j queue.Job, to []data.NodeShare) error {
	w := workload{kind: j.Handle.(workload).kind}
	if err := q.client.Get(ctx, j.Handle.(workload).path(), &w); err != nil {
		return err
	}
	switch {
	case string(w.UID) != j.ID:
		return errors.New("another job has its name now")
	case !w.suspended() && !(j.InPlace && elastic(w)):
		return errors.New("it is not suspended")
	}
	roles, err := w.roles()
	if err != nil {
		return err
	}
	counts := requested(w)
	if len(to) > 0 {
		counts, err = replicas(w, to)
	}
	if err != nil || len(counts) != len(roles) {
		return errors.Join(errors.New("how many pods it should have is not known"), err)
	}
	notes, spec := map[string]any{}, map[string]any{}
	if list, ok := at(w.Spec, w.kind.list).([]any); ok && len(list) > 0 {
		put(spec, w.kind.list, runtime.DeepCopyJSONValue(list))
	}
	w.resize(spec, roles, counts)
	if j.InPlace {
		note(notes, w, roles)
	} else {
		w.resume(notes, spec, roles, to)
	}
	return q.patch(ctx, j, w, notes, spec)
}

// resume adds to a patch what lets a job start on nodes.
func (w workload) resume(notes, spec map[string]any, roles []role, to []data.NodeShare) {
	notes[heldBy], notes[boundTo] = nil, nil
	if len(to) > 0 {
		notes[boundTo] = strings.Join(names(to), ",")
	}
	put(spec, w.kind.suspend, false)
	for _, r := range roles {
		template, _ := at(w.Spec, r.template).(map[string]any)
		had := at(template, affinityPath) != nil
		switch terms := w.terms(r, to); {
		case terms != nil:
			put(spec, append(slices.Clone(r.template), affinityPath...), terms)
		case had:
			put(spec, append(slices.Clone(r.template), affinityPath[:len(affinityPath)-1]...), nil)
		}
	}
}

// patch changes a job and logs the change. It fails if the job has changed since it was read.
func (q *Queue) patch(ctx context.Context, j queue.Job, w workload, notes, spec map[string]any) error {
	fields := map[string]any{"metadata": map[string]any{"annotations": notes, "resourceVersion": w.ResourceVersion, "uid": w.UID}, "spec": spec}
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	c := queue.Command{Job: j.ID, Name: j.Namespace + "/" + j.Name, Command: []string{"PATCH", w.path(), string(text)}}
	return queue.Audited(q.audit, c, func() (string, error) { return "", q.client.Patch(ctx, w.path(), fields, nil) })
}

// hostname is the node label that binds pods to nodes.
const hostname = "kubernetes.io/hostname"

// affinityPath is the path in a pod template of the nodes its pods may be on.
var affinityPath = []string{"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"}

// bound returns the node selector terms of a pod template with one more requirement in
// each: the node is one of nodes. That of an earlier call for the nodes in was is
// removed; those of the job's owner stay. The result is nil if no term is left.
func bound(template map[string]any, was, nodes []string) []any {
	terms, _ := at(template, affinityPath).([]any)
	var out []any
	for _, t := range terms {
		term, _ := runtime.DeepCopyJSONValue(t).(map[string]any)
		var rest []any
		list, _ := term["matchExpressions"].([]any)
		for _, e := range list {
			if !ours(e, was) {
				rest = append(rest, e)
			}
		}
		if rest == nil {
			delete(term, "matchExpressions")
		} else {
			term["matchExpressions"] = rest
		}
		if len(term) > 0 {
			out = append(out, term)
		}
	}
	if len(nodes) == 0 {
		return out
	}
	if len(out) == 0 { // terms are alternatives; there must be one to hold the requirement
		out = []any{map[string]any{}}
	}
	for _, t := range out {
		term := t.(map[string]any)
		list, _ := term["matchExpressions"].([]any)
		term["matchExpressions"] = append(slices.Clone(list), map[string]any{"key": hostname, "operator": "In", "values": nodes})
	}
	return out
}

// ours reports whether a requirement is the one that knee made for the nodes in was.
func ours(expression any, was []string) bool {
	e, _ := expression.(map[string]any)
	if len(was) == 0 || e["key"] != hostname || e["operator"] != "In" {
		return false
	}
	values, _ := e["values"].([]any)
	return slices.EqualFunc(values, was, func(v any, n string) bool { return v == n })
}
