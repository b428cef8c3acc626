package plots

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var (
	update = flag.Bool("update", false, "rewrite the golden files in testdata")
	pngDir = flag.String("png", "", "folder to draw every sample into")
)

// TestGolden compares the SVG of every sample byte by byte. After a wanted
// change of the drawing, look at the samples (-png) and rerun with -update.
func TestGolden(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			fig, err := s.make()
			if err != nil {
				t.Fatal(err)
			}
			if *pngDir != "" {
				if err := Save(filepath.Join(*pngDir, s.name+".png"), fig); err != nil {
					t.Fatal(err)
				}
			}
			var got bytes.Buffer
			if err := Render(&got, "svg", fig); err != nil {
				t.Fatal(err)
			}
			if got.Len() > 100_000 {
				t.Errorf("the SVG has %d bytes; want at most 100 kB", got.Len())
			}
			checkGolden(t, s.name, got.Bytes())
		})
	}
}

// checkGolden compares an SVG with the one in testdata, or writes it there.
func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	golden := filepath.Join("testdata", name+".svg")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from what is drawn now; draw the samples with -png, look, and rerun with -update", golden)
	}
}
