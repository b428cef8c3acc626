package export

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"

	"knee/data"
)

// object is a mapping in the order in which it is written, without fields of value nil.
type object []field

type field struct {
	key   string
	value any
}

// text is the value of a field that is left out if s is empty.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// MarshalYAML implements [yaml.Marshaler].
func (o object) MarshalYAML() (any, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range o {
		if f.value == nil {
			continue
		}
		var key, value yaml.Node
		key.SetString(f.key)
		if err := value.Encode(f.value); err != nil {
			return nil, err
		}
		n.Content = append(n.Content, &key, &value)
	}
	return n, nil
}

// yamlFile is a file of manifests. The user's pod template (tolerations, volumes,
// secrets, service account, sidecars), whose first container trains, is merged into
// every pod template; fields of the plan have precedence.
func yamlFile(name string, pod map[string]any, ms ...any) (File, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	for _, m := range ms {
		var tree, under yaml.Node
		if err := tree.Encode(m); err != nil {
			return File{}, err
		}
		if pod != nil {
			if err := under.Encode(pod); err != nil {
				return File{}, err
			}
			fillPods(&tree, &under)
		}
		if err := e.Encode(&tree); err != nil {
			return File{}, err
		}
	}
	return File{Name: name, Mode: 0o644, Data: b.Bytes()}, e.Close()
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
