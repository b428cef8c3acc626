package plots

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/font/gofont/gomono"
	"gonum.org/v1/plot/font"
)

// A letter that the figures' font lacks is looked for in the folders, and found
// only where a font has it.
func TestFontsOfTheMachine(t *testing.T) {
	const letter = '\u2079' // superscript nine, which Go Mono has and Liberation Sans lacks
	face := style(10, inkColor).Handler.Cache().Lookup(style(10, inkColor).Font, 10)
	if has(face.Face, letter) {
		t.Fatal("the figures' font has the letter")
	}
	dir := t.TempDir()
	empty := fontFinder{dirs: []string{dir}}
	if empty.having(letter) != nil {
		t.Error("an empty folder has a font")
	}
	if err := os.MkdirAll(filepath.Join(dir, "go"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"broken.ttf": []byte("no font"), "go/mono.ttf": gomono.TTF, "notes.txt": gomono.TTF} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	full := fontFinder{dirs: []string{dir}}
	if full.having(letter) == nil {
		t.Error("the font that has the letter was not found")
	}
	if full.having('\U0001F9FF') != nil {
		t.Error("a letter that no font has was found")
	}
}

// What cannot be written is told, and a text is as wide as it is drawn.
func TestUnwritable(t *testing.T) {
	fig, err := NewScalability(scalabilitySample())
	if err != nil {
		t.Fatal(err)
	}
	fig.Title = "a\U0001F9FFb ≤ é"
	for path, want := range map[string]string{"a.svg": "", "a.pdf": "\U0001F9FF"} {
		if got := Unwritable(path, fig); got != want {
			t.Errorf("%s: %q cannot be written, want %q", path, got, want)
		}
	}
	sty := style(10, inkColor)
	if w := sty.Width("a\U0001F9FFb") - sty.Width("a") - sty.Width("b"); machineFonts.having('\U0001F9FF') == nil && w != font.Points(10) {
		t.Errorf("a letter without a font is %g points wide, want 10", w)
	}
	var png bytes.Buffer
	if err := Render(&png, "png", fig); err != nil {
		t.Error(err)
	}
}
