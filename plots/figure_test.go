package plots

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"knee/data"
)

// TestDrawingTwiceGivesTheSameBytes makes each figure anew and renders it in
// every format: neither a map's order nor the clock may show.
func TestDrawingTwiceGivesTheSameBytes(t *testing.T) {
	for _, s := range samples() {
		for _, format := range Formats() {
			if format == "png" && s.name != "scalability" && s.name != "allocation" {
				continue // one of each kind will do: pixels are slow
			}
			var out [2]bytes.Buffer
			for i := range out {
				fig, err := s.make()
				if err != nil {
					t.Fatal(err)
				}
				if err := Render(&out[i], format, fig); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(out[0].Bytes(), out[1].Bytes()) {
				t.Errorf("%s as %s: two drawings differ", s.name, format)
			}
		}
	}
}

// svgTexts returns the texts of an SVG file, and fails if it is not XML.
func svgTexts(t *testing.T, fig Figure) []string {
	t.Helper()
	var out bytes.Buffer
	if err := Render(&out, "svg", fig); err != nil {
		t.Fatal(err)
	}
	var texts []string
	d := xml.NewDecoder(&out)
	inText := false
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			inText = tok.Name.Local == "text"
		case xml.CharData:
			if inText {
				texts = append(texts, string(tok))
			}
		case xml.EndElement:
			inText = false
		}
	}
}

func TestFiguresSayWhatTheyShow(t *testing.T) {
	want := map[string][]string{
		"scalability":      {"resnet50-imagenet", "throughput (samples/s)", "workers", "knee: 7 workers", "90 % interval, predicted", "95 % interval, measured", "ideal linear scaling", "out of memory", "extrapolated"},
		"scalability_log2": {"goodput (samples/s)", "64", "knee: 12 workers"},
		"speed_workers":    {"speed (steps/s)", "workers", "2 ps", "8 ps"},
		"speed_ps":         {"parameter servers", "16 workers"},
		"convergence":      {"loss", "step", "target 0.48 at step 26.4k (23.1k to 33.9k)", "measured"},
		"search":           {"throughput (samples/s)", "highest 3105", "highest: trial 17, 8 × a100, allreduce, batch 96", "highest so far", "out of memory", "failed"},
		"allocation":       {"a01 (a100)", "bert-large", "cifar10, paused", "deepspeech2, 6 × t4 + 2 ps", "1 ps", "idle", "drained", "GPUs of the node"},
		"simulation":       {"job completion time (h)", "jobs done (%)"},
	}
	for _, s := range samples() {
		fig, err := s.make()
		if err != nil {
			t.Fatal(err)
		}
		all := "\n" + strings.Join(svgTexts(t, fig), "\n") + "\n"
		for _, w := range want[s.name] {
			if !strings.Contains(all, "\n"+w+"\n") {
				t.Errorf("%s: no text %q in%s", s.name, w, all)
			}
		}
	}
}

func TestNamesAreEscaped(t *testing.T) {
	fig, err := NewScalability(Scalability{Title: `a<b & "c"`, Quantity: Speed, Series: []Series{{Name: "<x>", Points: []Point{{X: 1, Y: 1}}}}})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(svgTexts(t, fig), "|")
	if !strings.Contains(all, `a<b & "c"`) || !strings.Contains(all, "<x>") {
		t.Errorf("the texts are %s", all)
	}
}

func TestSaveChoosesFormatByExtension(t *testing.T) {
	fig, err := NewScalability(scalabilitySample())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, magic := range map[string]string{"a.svg": "<?xml", "b.PNG": "\x89PNG", "c.pdf": "%PDF-"} {
		path := filepath.Join(dir, name)
		if err := Save(path, fig); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(got, []byte(magic)) {
			t.Errorf("%s starts with %q; want %q", name, got[:8], magic)
		}
	}
	var out bytes.Buffer
	if err := Render(&out, "png", fig); err != nil {
		t.Fatal(err)
	}
	cfg, err := png.DecodeConfig(&out)
	if err != nil {
		t.Fatal(err)
	}
	// 16 cm × 10 cm at 192 dots per inch.
	if cfg.Width < 1209 || cfg.Width > 1210 || cfg.Height < 755 || cfg.Height > 756 {
		t.Errorf("the PNG has %d × %d pixels; want 1209 × 756", cfg.Width, cfg.Height)
	}
}

func TestSaveRefusesOtherExtensions(t *testing.T) {
	fig, err := NewScalability(scalabilitySample())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a.gif": `a.gif: found extension ".gif", want a file name that ends in .svg, .png or .pdf`,
		"plot":  `plot: found no extension, want a file name that ends in .svg, .png or .pdf`,
	} {
		err := Save(name, fig)
		var input *data.InputError
		if !errors.As(err, &input) || err.Error() != want {
			t.Errorf("Save(%s) gives %v; want %s", name, err, want)
		}
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if err := Render(io.Discard, "gif", fig); err == nil || !strings.Contains(err.Error(), "want svg, png or pdf") {
		t.Errorf("Render as gif gives %v", err)
	}
	if err := Render(io.Discard, "svg", nil); err == nil {
		t.Error("a nil figure was drawn")
	}
}

// broken is a figure that panics, as gonum/plot does on bad input.
type broken struct{}

func (broken) Size() (w, h vg.Length) { return 10, 10 }
func (broken) Draw(draw.Canvas)       { panic("out of ink") }
func (broken) Tooltips() []Tooltip    { return nil }

func TestPanicBecomesError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.svg")
	err := Save(path, broken{})
	if err == nil || !strings.Contains(err.Error(), "out of ink") {
		t.Errorf("Save gives %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was left behind")
	}
}

func TestPDFHasNoClockAndKnownText(t *testing.T) {
	fig, err := NewScalability(scalabilitySample())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Render(&out, "pdf", fig); err != nil {
		t.Fatal(err)
	}
	dates := regexp.MustCompile(`D:(\d{14})`).FindAllSubmatch(out.Bytes(), -1)
	if len(dates) == 0 {
		t.Error("no date found: the pattern no longer matches what the PDF library writes")
	}
	for _, d := range dates {
		if string(d[1]) != "20000101000000" {
			t.Errorf("date %s in the file", d[1])
		}
	}
	if got, want := windows1252("8 × a100 – 5 ≤ 6 → 鳥"), "8 \xd7 a100 \x96 5 <= 6 -> ?"; got != want {
		t.Errorf("windows1252 = %q; want %q", got, want)
	}
}

// TestTranslucentColoursInPDF keeps the hue of ribbons: opacity does not darken it.
func TestTranslucentColoursInPDF(t *testing.T) {
	var seen recorder.Canvas
	pdfText{Canvas: &seen}.SetColor(fade(palette[0], 0.2))
	r, g, b, a := seen.Actions[0].(*recorder.SetColor).Color.RGBA()
	if got := fmt.Sprintf("%02x%02x%02x of %02x", r>>8, g>>8, b>>8, a>>8); got != "0072b2 of 33" {
		t.Errorf("the colour is %s; want 0072b2 of 33", got)
	}
}

// The shades of a heat map, and the text on them, mean the same on a light
// and on a dark page.
func TestHeatKeepsItsShadesOnEveryPage(t *testing.T) {
	fig, err := heatSample().draw()
	if err != nil {
		t.Fatal(err)
	}
	svg, err := InlineSVG(fig)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(svg, []byte("--knee-series-1")) {
		t.Error("a cell takes the colour of a series, which is another one on a dark page")
	}
	if n := bytes.Count(svg, []byte("--knee-ground")); n != 1 {
		t.Errorf("the ground is used %d times, want once, for the background", n)
	}
}

// Wherever two knees lie among eight curves, their labels stand beside one another.
func TestLabelsDoNotOverlap(t *testing.T) {
	label := regexp.MustCompile(`<text textLength="([\d.]+)"[^>]* x="([\d.]+)" y="(-[\d.]+)"[^>]*>\s*knee, `)
	for second := .3; second < 1; second += .05 {
		s := Scalability{Title: "t", Quantity: Throughput, Ideal: true}
		for i, at := range []float64{1, second, .37, .28, .22, .19, .16, .14} {
			one := Series{Name: fmt.Sprintf("a GPU type with a long name, %d", i)}
			for j, y := range []float64{780, 1000, 1800, 3000, 3400, 3700, 4200} {
				one.Curve = append(one.Curve, Band{X: []float64{1, 2, 4, 8, 10, 12, 16}[j], Mean: y * at, Lo: y * at, Hi: y * at})
			}
			if i < 2 {
				k := one.Curve[4+i]
				one.Knee = &Knee{X: k.X, Y: k.Mean, Note: fmt.Sprintf("knee, extrapolated: %g workers", k.X)}
			}
			s.Series = append(s.Series, one)
		}
		c, err := NewScalability(s)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Render(&out, "svg", c); err != nil {
			t.Fatal(err)
		}
		var boxes []vg.Rectangle
		for _, m := range label.FindAllStringSubmatch(out.String(), -1) {
			var width, x, y vg.Length
			if _, err := fmt.Sscan(m[1]+" "+m[2]+" "+m[3], &width, &x, &y); err != nil {
				t.Fatal(err)
			}
			boxes = append(boxes, vg.Rectangle{Min: vg.Point{X: x, Y: -y}, Max: vg.Point{X: x + width, Y: 9 - y}})
		}
		if len(boxes) != 2 || overlap(boxes[0], boxes[1]) {
			t.Errorf("labels at %v", boxes)
		}
	}
}
