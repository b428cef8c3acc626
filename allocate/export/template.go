package export

import (
	"bytes"
	"embed"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"sync"
	"text/template"

	"github.com/dustin/go-humanize/english"
	"go.yaml.in/yaml/v3"

	"knee/internal/list"
	"knee/internal/manifest"
	"knee/internal/shell"
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
		"comment": comment, "shell": shell.Quote, "shellWords": shellWords, "plural": english.Plural,
		"join":            func(words []string) string { return strings.Join(words, ",") },
		"clock":           clock,
		"elasticRestarts": func() int { return elasticRestarts },
		"add":             func(a, b int) int { return a + b },
		"multiply":        func(a, b int) int { return a * b },
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
	all := list.Map(of, func(kv [2]string) string {
		return fmt.Sprintf("{name: %s, value: %s}", manifest.Quote(kv[0]), manifest.Quote(literal(kv[1])))
	})
	return "[" + strings.Join(all, ", ") + "]"
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

var (
	envName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	nodeName  = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	namespace = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	word      = regexp.MustCompile(`^[A-Za-z0-9_.,:+@/=-]+$`)
	notLabel  = regexp.MustCompile(`[^a-z0-9]+`)
)

// maxLabel is the longest name that KubeRay accepts for a RayJob. It leaves room in the 63
// characters of a DNS-1123 label for what other operators append, such as "-worker-" and an index.
const maxLabel = 47

// label turns a job name into a DNS-1123 label. A name that is cut, or has no valid
// character, gets a checksum, so that different names stay different.
func label(name string) string {
	s := strings.Trim(notLabel.ReplaceAllString(strings.ToLower(name), "-"), "-")
	switch {
	case s == "":
		return "job-" + checksum(name)
	case s[0] >= '0' && s[0] <= '9':
		s = "job-" + s
	}
	if len(s) > maxLabel {
		s = strings.TrimRight(s[:maxLabel-9], "-") + "-" + checksum(name)
	}
	return s
}

func checksum(s string) string {
	h := fnv.New32a()
	h.Write([]byte(s))
	return fmt.Sprintf("%08x", h.Sum32())
}

func shellWords(words []string) string { return strings.Join(list.Map(words, shell.Quote), " ") }

// comment makes text safe after a "#": one printable line.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}
