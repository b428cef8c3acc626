package plots

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"knee/internal/list"
)

// machineFonts finds fonts for letters that Liberation Sans lacks, which is linked in.
var machineFonts = fontFinder{dirs: fontDirs()}

// fontDirs are the places where systems keep fonts.
func fontDirs() []string {
	home, _ := os.UserHomeDir()
	switch runtime.GOOS {
	case "windows":
		return []string{filepath.Join(os.Getenv("WINDIR"), "Fonts"), filepath.Join(os.Getenv("LOCALAPPDATA"), "Microsoft", "Windows", "Fonts")}
	case "darwin":
		return []string{"/System/Library/Fonts", "/Library/Fonts", filepath.Join(home, "Library", "Fonts")}
	}
	return []string{"/usr/share/fonts", "/usr/local/share/fonts", filepath.Join(home, ".local", "share", "fonts"), filepath.Join(home, ".fonts")}
}

// fontFinder looks for fonts in folders, regular faces without serifs first.
type fontFinder struct {
	dirs []string

	mu    sync.Mutex
	paths []string // nil before the first look
	used  []*opentype.Font
	none  []rune // in no font
}

// having returns a font that has the letter, nil if there is none.
func (f *fontFinder) having(r rune) *opentype.Font {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.IndexFunc(f.used, func(known *opentype.Font) bool { return has(known, r) }); i >= 0 {
		return f.used[i]
	}
	if slices.Contains(f.none, r) {
		return nil
	}
	if f.paths == nil {
		f.paths = f.list()
	}
	for _, path := range f.paths {
		if found := openHaving(path, r); found != nil {
			f.used = append(f.used, found)
			return found
		}
	}
	f.none = append(f.none, r)
	return nil
}

// list returns the font files, regular sans-serif ones first, not nil.
func (f *fontFinder) list() []string {
	paths := []string{}
	for _, dir := range f.dirs {
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && slices.Contains([]string{".ttf", ".otf", ".ttc", ".otc"}, strings.ToLower(filepath.Ext(path))) {
				paths = append(paths, path)
			}
			return nil // folders that cannot be read are skipped
		})
	}
	special := func(path string) int {
		words := []string{"bold", "black", "light", "thin", "italic", "oblique", "mono", "serif", "condensed"}
		return list.Count(words, func(w string) bool { return strings.Contains(strings.ToLower(filepath.Base(path)), w) })
	}
	slices.SortStableFunc(paths, func(a, b string) int { return special(a) - special(b) })
	return paths
}

// openHaving opens a font file if it has the letter; it stays open for its glyphs.
func openHaving(path string, r rune) *opentype.Font {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	all, err := opentype.ParseCollectionReaderAt(file)
	if err == nil && all.NumFonts() > 0 {
		if first, err := all.Font(0); err == nil && has(first, r) {
			return first
		}
	}
	file.Close()
	return nil
}

func has(f *opentype.Font, r rune) bool {
	var buf sfnt.Buffer
	i, err := f.GlyphIndex(&buf, r)
	return err == nil && i != 0
}

// run is a part of a text in one font.
type run struct {
	face  font.Face
	text  string
	width vg.Length
	found bool // false: no font has it
}

// runs divides a text by the fonts it takes.
func runs(face font.Face, s string) []run {
	var out []run
	for _, r := range s {
		part := run{face: face, found: has(face.Face, r)}
		if !part.found {
			if other := machineFonts.having(r); other != nil {
				part.face, part.found = font.Face{Font: face.Font, Face: other}, true
			}
		}
		if n := len(out) - 1; n < 0 || out[n].face.Face != part.face.Face || out[n].found != part.found {
			out = append(out, part)
		}
		out[len(out)-1].text += string(r)
	}
	for i, p := range out {
		out[i].width = p.face.Width(p.text)
		if !p.found { // as wide as a letter is that fills its square
			out[i].width = vg.Length(len([]rune(p.text))) * face.Font.Size
		}
	}
	return out
}

// handler is the plain text of gonum/plot, measured in the fonts it is drawn in.
type handler struct{ text.Plain }

func (h handler) Box(s string, f font.Font) (width, height, depth vg.Length) {
	_, height, depth = h.Plain.Box("", f)
	for _, r := range runs(h.Fonts.Lookup(f, f.Size), s) {
		width += r.width
	}
	return width, height, depth
}

func (h handler) Draw(c vg.Canvas, s string, sty text.Style, pt vg.Point) {
	width, _, _ := h.Box(s, sty.Font)
	shift := vg.Length(sty.XAlign) * width
	sty.XAlign = 0
	sin, cos := math.Sincos(sty.Rotation)
	h.Plain.Draw(c, s, sty, pt.Add(vg.Point{X: shift * vg.Length(cos), Y: shift * vg.Length(sin)}))
}

// pngText is an image canvas that draws every letter in a font that has it.
type pngText struct {
	vg.Canvas
	lost *[]rune // letters that no font has are added; may be nil
}

func (c pngText) FillString(f font.Face, pt vg.Point, s string) {
	for _, r := range runs(f, s) {
		for _, letter := range r.text {
			lose(c.lost, letter, !r.found)
		}
		c.Canvas.FillString(r.face, pt, r.text)
		pt.X += r.width
	}
}

// lose adds a letter to those that are lost, once.
func lose(all *[]rune, letter rune, lost bool) {
	if lost && all != nil && !slices.Contains(*all, letter) {
		*all = append(*all, letter)
	}
}

// Unwritable returns the letters that a PNG (no font has them) or PDF file cannot show.
func Unwritable(path string, fig Figure) string {
	var lost []rune
	format, _ := formatOf(path)
	if c, ok := map[string]vg.Canvas{"png": pngText{&recorder.Canvas{}, &lost}, "pdf": pdfText{&recorder.Canvas{}, &lost}}[format]; ok {
		w, h := fig.Size()
		fig.Draw(draw.NewCanvas(c, w, h))
	}
	return string(lost)
}
