package export

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"knee/internal/manifest"
)

// yamlFile is a file of manifests from a template, with the user's pod template merged
// into every pod.
func yamlFile(name, template string, values any, pod map[string]any) (File, error) {
	text, err := rendered(template, values)
	if err != nil {
		return File{}, err
	}
	documents, err := manifest.Read(text, pod)
	if err != nil {
		return File{}, err
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	for _, d := range documents {
		if err := e.Encode(d); err != nil {
			return File{}, err
		}
	}
	return File{Name: name, Mode: 0o644, Data: out.Bytes()}, e.Close()
}
