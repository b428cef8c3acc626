package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Go code in the documentation is code of this repository: every block marked
// go stands, up to its indentation, in a file that is compiled and tested.
func TestDocSnippets(t *testing.T) {
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	err = filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() == ".git" { // whose files may come and go
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sources = append(sources, flat(string(text)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, doc := range append(docs, "../../README.md") {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(doc) == "howto-extend.md" {
			continue // TestExtendCompiles builds its code
		}
		for _, block := range goBlocks(string(text)) {
			checked++
			found := false
			for _, s := range sources {
				found = found || strings.Contains(s, flat(block))
			}
			if !found {
				t.Errorf("%s shows Go code that is in no file:\n%s", doc, block)
			}
		}
	}
	if checked == 0 {
		t.Error("no Go code was found in the documentation")
	}
}

// flat removes the indentation of every line.
func flat(code string) string {
	lines := strings.Split(code, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// goBlocks returns the contents of the blocks marked go.
func goBlocks(doc string) []string {
	var blocks []string
	for {
		_, after, found := strings.Cut(doc, "\n```go\n")
		if !found {
			return blocks
		}
		block, rest, _ := strings.Cut(after, "\n```")
		blocks = append(blocks, block)
		doc = rest
	}
}
