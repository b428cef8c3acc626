package export

import (
	"fmt"
	"strings"

	"knee/data"
)

// kubernetes is a target that writes a manifest for each job and apply.sh.
type kubernetes struct {
	api, kind string                       // as the API server knows it
	command   bool                         // a job must have a command
	servers   bool                         // it can start parameter servers
	equal     bool                         // every node must hold the same number of workers
	spec      func(task) object            // of the manifest
	before    func(task) object            // a manifest to come before that of the job; nil: none
	labels    func(task) map[string]string // of the manifest; nil: none
}

func (k kubernetes) write(ts []task) ([]File, error) {
	var files []File
	for n := range ts {
		t := &ts[n]
		if t.Template.Namespace != "" && t.Template.Namespace != label(t.Template.Namespace) {
			return nil, t.refuse("namespace %q is not a DNS-1123 label", t.Template.Namespace)
		}
		if t.paused() {
			continue
		}
		if t.Template.Image = imageOf(t.Template); t.Template.Image == "" {
			return nil, t.refuse("template.image is empty, and a pod needs an image")
		}
		if err := t.expressible("a "+k.kind, k.command, k.servers); err != nil {
			return nil, err
		}
		if k.equal && t.perNode() == 0 {
			return nil, t.refuse("its nodes hold %s workers, and a %s has the same number on every node; export it to jobset, volcano or slurm", t.config().Placement, k.kind)
		}
		var ms []any
		if k.before != nil {
			ms = append(ms, k.before(*t))
		}
		labels := map[string]string{}
		if k.labels != nil {
			labels = k.labels(*t)
		}
		ms = append(ms, manifest(*t, k.api, k.kind, k.spec(*t), labels))
		f, err := yamlFile(t.ID+".yaml", t.Template.Pod, ms...)
		if err != nil {
			return nil, t.refuse("%v", err)
		}
		files = append(files, f)
	}
	return append(files, File{Name: "apply.sh", Mode: 0o755, Data: []byte(k.applyScript(ts))}), nil
}

// manifest wraps a spec. Names and reasons of the plan are annotations.
func manifest(t task, api, kind string, spec object, labels map[string]string) object {
	labels["app.kubernetes.io/managed-by"] = "knee"
	return object{
		{"apiVersion", api}, {"kind", kind},
		{"metadata", object{
			{"name", t.ID}, {"namespace", text(t.Template.Namespace)}, {"labels", labels},
			{"annotations", map[string]string{"knee/job": t.Name, "knee/placement": placement(t.Placement, " ")}},
		}},
		{"spec", spec},
	}
}

// applyScript deletes the jobs that the plan pauses or changes, since a running job
// that is not elastic cannot be resized in place, and applies all that run anew.
func (k kubernetes) applyScript(ts []task) string {
	var b strings.Builder
	group, _, _ := strings.Cut(k.api, "/")
	resource := strings.ToLower(k.kind) + "s." + group
	b.WriteString("#!/bin/sh\n# knee: carries out the plan.\nset -eu\ncd \"$(dirname \"$0\")\"\n\n")
	for _, t := range ts {
		ns := ""
		if t.Template.Namespace != "" {
			ns = " --namespace=" + t.Template.Namespace
		}
		remove := fmt.Sprintf("kubectl delete %s %s%s --ignore-not-found --wait", resource, t.ID, ns)
		switch {
		case t.paused():
			fmt.Fprintf(&b, "%s # %s: %s\n", remove, t.Action, comment(t.Reason))
		case t.changed():
			fmt.Fprintf(&b, "%s # %s\n", remove, t.Action)
		case t.Action == data.Keep:
			fmt.Fprintf(&b, "# %s is kept as it runs\n", t.ID)
		}
	}
	for _, t := range ts {
		if !t.paused() && t.Action != data.Keep {
			fmt.Fprintf(&b, "kubectl apply -f %s.yaml\n", t.ID)
		}
	}
	return b.String()
}
