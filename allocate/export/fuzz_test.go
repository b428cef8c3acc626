package export

import (
	"strings"
	"testing"
	"unicode/utf8"

	"knee/data"

	"go.yaml.in/yaml/v3"
)

// FuzzManifests: whatever a job is called and is told to run, a YAML parser
// reads back what was meant, after the kubelet's own expansion.
func FuzzManifests(f *testing.F) {
	for _, s := range []string{"a", "it's", "$(HOME)", "$$(x)", "a$$", "yes", "1e3", "null", "- a", "a: b", "#", "\n\n", "\t", "é\u2028", "{{", "&a", "*", "!!str", "0x1", "2001-01-01", "\"", "'", "\\n", " x ", "%"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		if strings.ContainsRune(name+text, 0) || !utf8.ValidString(name) || !utf8.ValidString(text) || strings.Contains(text, "{{") { // a template is rendered
			return
		}
		p := data.Plan{Version: data.PlanVersion, Jobs: []data.PlannedJob{{Name: name, Action: data.Start, GPUType: "t4", Workers: 1,
			Placement: []data.NodeShare{{Node: "n1", Workers: 1}}, Template: data.Template{Image: "i", Command: []string{"run", text}, Env: map[string]string{"X": text}}}}}
		files, err := exporters()["jobset"](p)
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			Metadata struct{ Annotations map[string]string }
			Spec     struct {
				ReplicatedJobs []struct {
					Template struct {
						Spec struct{ Template struct{ Spec podRead } }
					}
				} `yaml:"replicatedJobs"`
			}
		}
		if err := yaml.Unmarshal(files[0].Data, &m); err != nil {
			t.Fatalf("%v\n%s", err, files[0].Data)
		}
		c := m.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0]
		if got := kubelet(c.Command[len(c.Command)-1]); got != text {
			t.Errorf("the pod would run %q, want %q", got, text)
		}
		if got := kubelet(c.Env[0].Value); got != text {
			t.Errorf("the pod would see %q, want %q", got, text)
		}
		if got := m.Metadata.Annotations["knee/job"]; got != name {
			t.Errorf("annotation %q, want %q", got, name)
		}
	})
}

// podRead is what is read back of a pod.
type podRead struct {
	Containers []struct {
		Name    string
		Command []string
		Env     []struct{ Name, Value string }
	}
}

// kubelet expands as the kubelet does where no variable is defined: $$ is a
// dollar sign, and $(NAME) stays, to be noticed.
func kubelet(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '$' && i+1 < len(s) && s[i+1] == '(' {
			b.WriteString("<expanded>")
		}
		if s[i] == '$' && i+1 < len(s) && s[i+1] == '$' {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
