package space_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"knee/data"
	"knee/profile/space"
)

// Every study among the examples can be read, has candidates, and a command for
// each.
func TestExamples(t *testing.T) {
	studies := 0
	err := filepath.WalkDir("../../examples", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" || filepath.Base(filepath.Dir(path)) == "operate" { // how a queue is operated
			return err
		}
		studies++
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		s, err := data.ReadStudy(f, path)
		if err != nil {
			return err
		}
		all, err := space.Candidates(s)
		if err != nil {
			return err
		}
		for _, c := range all {
			command, err := data.RenderCommand(s.Command, c, s.Source)
			if err != nil {
				return err
			}
			if text := strings.Join(command, " "); strings.Contains(text, "{{") {
				t.Errorf("%s: %s", path, text)
			}
		}
		return nil
	})
	if err != nil || studies < 10 {
		t.Errorf("%d studies, %v", studies, err)
	}
}
