package export

import (
	"cmp"

	"knee/data"
)

// kubernetes is a target that writes a manifest for each job and apply.sh. The template
// of the manifest is named after the target.
type kubernetes struct {
	kind, resource string // in messages, and for kubectl
	command        bool   // a job must have a command
	servers        bool   // it can start parameter servers
	equal          bool   // every node must hold the same number of workers
	endless        bool   // its jobs have no time limit
}

func (k kubernetes) write(manifest string, ts []task, first string) ([]File, error) {
	var files []File
	for n := range ts {
		t := &ts[n]
		if t.Template.Namespace != "" && !namespace.MatchString(t.Template.Namespace) {
			return nil, t.refuse("namespace %q is not a DNS-1123 label", t.Template.Namespace)
		}
		if t.Paused() {
			continue
		}
		if t.Template.Image = cmp.Or(t.Template.Image, data.PodImage(t.Template.Pod)); t.Template.Image == "" {
			return nil, t.refuse("template.image is empty, and a pod needs an image")
		}
		if err := t.expressible(k.kind, k.command, k.servers); err != nil {
			return nil, err
		}
		if k.endless && t.Template.TimeLimit != "" {
			return nil, t.refuse("template.time_limit is %s, and the target has no time limits", t.Template.TimeLimit)
		}
		if k.equal && t.PerNode() == 0 {
			return nil, t.refuse("its nodes hold %s workers, and %s has the same number on every node; export it to jobset, volcano or slurm", t.Config().Placement, k.kind)
		}
		f, err := yamlFile(t.ID+".yaml", manifest, *t, t.Template.Pod)
		if err != nil {
			return nil, t.refuse("%v", err)
		}
		files = append(files, f)
	}
	apply, err := script("apply.sh", "apply.sh", struct {
		Resource, First string // a file to apply before the jobs
		Tasks           []task
	}{k.resource, first, ts})
	return append(files, apply), err
}
