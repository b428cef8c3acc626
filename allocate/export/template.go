package export

import (
	"bytes"
	"embed"
	"fmt"
	"strings"
	"sync"
	"text/template"

	"github.com/dustin/go-humanize/english"
	"go.yaml.in/yaml/v3"

	"knee/internal/manifest"
)

// The scripts and manifests are templates of a [task], one file for each target. Text
// goes into a script through shell, shellWords or comment, and into a manifest through
// quote, given or variables; identifiers and names of nodes are checked.
//
//go:embed templates
var templateFiles embed.FS

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Option("missingkey=zero").Funcs(template.FuncMap{
		"quote": manifest.Quote, "given": manifest.Given, "variables": variables, "placement": placement, "literals": literals,
		"comment": comment, "shell": shell, "shellWords": shellWords, "plural": english.Plural,
		"join":            func(words []string) string { return strings.Join(words, ",") },
		"clock":           clock,
		"elasticRestarts": func() int { return elasticRestarts },
		"add":             func(a, b int) int { return a + b },
		"min":             func(a, b int) int { return min(a, b) },
		"max":             func(a, b int) int { return max(a, b) },
	}).ParseFS(templateFiles, "templates/*"))
})

// elasticRestarts is how often torchrun restarts the workers, after a failure or a
// change of nodes, before it ends.
const elasticRestarts = 100

func rendered(name string, values any) ([]byte, error) {
	var b bytes.Buffer
	err := templates().ExecuteTemplate(&b, name, values)
	return b.Bytes(), err
}

func script(name, template string, values any) (File, error) {
	text, err := rendered(template, values)
	return File{Name: name, Mode: 0o755, Data: text}, err
}

// variables writes environment variables of a container, escaped for the kubelet.
func variables(of [][2]string) string {
	var out []string
	for _, kv := range of {
		out = append(out, fmt.Sprintf("{name: %s, value: %s}", manifest.Quote(kv[0]), manifest.Quote(literal(kv[1]))))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

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
