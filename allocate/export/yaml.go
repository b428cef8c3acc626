package export

import (
	"bytes"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"knee/data"
)

// yamlFile is a file of manifests from a template, without the fields that have no value.
// The user's pod template (tolerations, volumes, secrets, service account, sidecars),
// whose first container trains, is merged into every pod template; fields of the plan
// have precedence.
func yamlFile(name, template string, values any, pod map[string]any) (File, error) {
	var under yaml.Node
	if err := under.Encode(pod); err != nil {
		return File{}, err
	}
	text, err := rendered(template, values)
	if err != nil {
		return File{}, err
	}
	var out bytes.Buffer
	in, e := yaml.NewDecoder(bytes.NewReader(text)), yaml.NewEncoder(&out)
	e.SetIndent(2)
	for {
		var tree yaml.Node
		switch err := in.Decode(&tree); {
		case err == io.EOF:
			return File{Name: name, Mode: 0o644, Data: out.Bytes()}, e.Close()
		case err != nil:
			return File{}, err
		}
		prune(&tree)
		if pod != nil {
			fillPods(&tree, &under)
		}
		if err := e.Encode(&tree); err != nil {
			return File{}, err
		}
	}
}

// prune removes fields without a value, and the quotes and braces that are not needed.
// It reports whether nothing is left.
func prune(n *yaml.Node) (empty bool) {
	n.Style = 0
	if n.Kind != yaml.MappingNode {
		for _, c := range n.Content {
			prune(c)
		}
		return n.Tag == "!!null"
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !prune(n.Content[i+1]) {
			kept = append(kept, n.Content[i], n.Content[i+1])
		}
	}
	empty = len(kept) == 0 && len(n.Content) > 0
	n.Content = kept
	return empty
}

// fillPods fills the mappings whose spec has containers.
func fillPods(n, under *yaml.Node) {
	if spec := valueOf(n, "spec"); spec != nil && valueOf(spec, "containers") != nil {
		fill(n, under)
		return
	}
	for _, c := range n.Content {
		fillPods(c, under)
	}
}

// fill adds the missing fields of a mapping from under. The first containers of two
// lists are merged; variables, volumes and tolerations of under are appended unless
// their name is used.
func fill(n, under *yaml.Node) {
	for i := 0; i+1 < len(under.Content); i += 2 {
		key, theirs := under.Content[i], under.Content[i+1]
		ours := valueOf(n, key.Value)
		switch {
		case key.Value == "command" || key.Value == "args": // those of the plan
		case ours == nil:
			n.Content = append(n.Content, key, theirs)
		case ours.Kind == yaml.MappingNode && theirs.Kind == yaml.MappingNode:
			fill(ours, theirs)
		case key.Value == "containers" && len(ours.Content) > 0 && len(theirs.Content) > 0:
			fill(ours.Content[0], theirs.Content[0])
			ours.Content = append(ours.Content, theirs.Content[1:]...)
		case ours.Kind == yaml.SequenceNode && theirs.Kind == yaml.SequenceNode:
			for _, item := range theirs.Content {
				if name := valueOf(item, "name"); name == nil || !slices.ContainsFunc(ours.Content, func(o *yaml.Node) bool {
					is := valueOf(o, "name")
					return is != nil && is.Value == name.Value
				}) {
					ours.Content = append(ours.Content, item)
				}
			}
		}
	}
}

// valueOf is the value of a key of a mapping, nil if there is none.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// imageOf is the image of the job, else of the first container of its pod template.
func imageOf(t data.Template) string {
	spec, _ := t.Pod["spec"].(map[string]any)
	list, _ := spec["containers"].([]any)
	if t.Image != "" || len(list) == 0 {
		return t.Image
	}
	c, _ := list[0].(map[string]any)
	image, _ := c["image"].(string)
	return image
}
