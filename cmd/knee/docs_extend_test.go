package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestExtendCompiles puts the Go code of howto-extend.md where the page says,
// without touching the files there, and compiles the packages.
func TestExtendCompiles(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("go is not installed, so the examples are not compiled")
	}
	page, err := os.ReadFile("../../docs/howto-extend.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 6 {
		t.Fatalf("%d blocks of Go, want a policy, an exporter and the line that registers each, a launcher and a family", len(blocks))
	}
	imports := map[string]string{"allocate.": "knee/allocate", "data.": "knee/data", "fmt.": "fmt", "bytes.": "bytes", "context.": "context", "launch.": "knee/profile/launch"}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	put := func(path, text string) {
		file := filepath.Join(t.TempDir(), "x.go")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, path)] = file
	}
	source := func(path string) string {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	add := func(path, pkg, block string) {
		text := "package " + pkg + "\n"
		for use, from := range imports {
			if regexp.MustCompile(`\b` + regexp.QuoteMeta(use)).MatchString(regexp.MustCompile(`//.*`).ReplaceAllString(block, "")) {
				text += "import \"" + from + "\"\n"
			}
		}
		put(path, text+block)
	}
	register := func(path, after, line string) {
		text := source(path)
		if !strings.Contains(text, after) {
			t.Fatalf("%s has no %q", path, after)
		}
		put(path, strings.Replace(text, after, after+line, 1))
	}
	add("allocate/policy/thrifty.go", "policy", blocks[0])
	register("allocate/policy/registry.go", "return []entry{\n", blocks[1])
	add("allocate/export/hostfile.go", "export", blocks[2])
	register("allocate/export/export.go", "out := map[string]Exporter{\n", blocks[3])
	add("profile/launch/wrapped/wrapped.go", "wrapped", blocks[4])
	if family := source("fit/speed/form/ernest.go"); !strings.Contains(strings.ReplaceAll(family, " ", ""), strings.ReplaceAll(strings.TrimSuffix(blocks[5], "}\n"), " ", "")) {
		t.Error("the family is not that of ernest.go")
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool, "build", "-overlay", file, "./allocate/policy", "./allocate/export", "./profile/launch/wrapped")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
