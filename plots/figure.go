package plots

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"knee/data"
)

// Figure can be drawn; the New functions return it.
type Figure interface {
	// Size returns the width and height the figure wants to be drawn at.
	Size() (width, height vg.Length)
	// Draw draws the whole figure, background included, on the canvas.
	Draw(c draw.Canvas)
	// Tooltips returns the texts that a page shows under the pointer.
	Tooltips() []Tooltip
}

// Formats lists the formats that Render and Save write.
func Formats() []string { return []string{"svg", "png", "pdf"} }

// pngDPI is the resolution of PNG files, twice that of a classic screen.
const pngDPI = 192

// Render writes the figure in one of [Formats]. The bytes depend on the figure only.
func Render(w io.Writer, format string, fig Figure) error {
	out, err := render(format, fig)
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}

// Save writes the figure to a .svg, .png or .pdf file, which appears whole or not at all.
func Save(path string, fig Figure) error {
	format, err := formatOf(path)
	if err != nil {
		return err
	}
	return data.WriteFile(path, func(w io.Writer) error { return Render(w, format, fig) })
}

// formatOf returns the format that the extension of a path names.
func formatOf(path string) (string, error) {
	ext := strings.ToLower(filepath.Ext(path))
	if slices.Contains(Formats(), strings.TrimPrefix(ext, ".")) {
		return ext[1:], nil
	}
	found := fmt.Sprintf("extension %q", ext)
	if ext == "" {
		found = "no extension"
	}
	return "", &data.InputError{Source: data.Source{File: path}, Found: found, Want: "a file name that ends in .svg, .png or .pdf"}
}

// render draws the figure into memory. A panic of gonum/plot, for input that the New
// functions should have refused, is returned as an error.
func render(format string, fig Figure) (out []byte, err error) {
	if fig == nil {
		return nil, bad("figure", "nil", "a figure")
	}
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("drawing the figure as %s: %v", format, r)
		}
	}()
	w, h := fig.Size()
	var buf bytes.Buffer
	switch format {
	case "svg":
		c := vgsvg.New(w, h)
		fig.Draw(draw.New(c))
		_, err = c.WriteTo(&buf)
		return portableSVG(buf.Bytes()), err
	case "png":
		c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pngDPI))}
		fig.Draw(draw.NewCanvas(pngText{Canvas: c}, w, h))
		_, err = c.WriteTo(&buf)
		return buf.Bytes(), err
	case "pdf":
		c := vgpdf.New(w, h)
		fig.Draw(draw.NewCanvas(pdfText{Canvas: c}, w, h))
		_, err = c.WriteTo(&buf)
		return pdfDate.ReplaceAll(buf.Bytes(), []byte("Date (D:20000101000000)")), err // equal figures are equal files
	}
	return nil, bad("format", fmt.Sprintf("%q", format), "svg, png or pdf")
}

// pdfDate matches the creation and modification times of a PDF file.
var pdfDate = regexp.MustCompile(`Date \(D:\d{14}\)`)

// drawn draws what a figure shows, unless err is the error of finding it.
func drawn[S interface{ draw() (F, error) }, F any](shown S, err error) (F, error) {
	if err != nil {
		var none F
		return none, err
	}
	return shown.draw()
}

// Options change how a figure looks. The zero value leaves it as it is.
type Options struct {
	Title         string    // in place of the figure's own
	Width, Height vg.Length // 0: the figure's own
}

// Apply changes a figure. It fails for a side below 5 cm or above 200 cm, and for a
// height that leaves the data too little room beside title, legend and labels.
func (o Options) Apply(fig Figure) error {
	given := o.Width != 0 || o.Height != 0
	if !given {
		o.Width, o.Height = fig.Size()
	} else if small, large := min(o.Width, o.Height), max(o.Width, o.Height); !(small >= 5*vg.Centimeter && large <= 200*vg.Centimeter) {
		return bad("size", o.size(), "5 to 200 cm each way")
	}
	switch f := fig.(type) {
	case *Chart:
		f.Title, f.Width, f.Height = cmp.Or(o.Title, f.Title), o.Width, o.Height
	case *Panels:
		f.Title = cmp.Or(o.Title, f.Title)
		f.resize(o.Width, o.Height)
	}
	if _, height := fig.Size(); given && height > 1.001*o.Height {
		return bad("size", o.size(), fmt.Sprintf("at least %.3g cm of height for title, legend and data", math.Ceil(float64(10*height/vg.Centimeter))/10))
	}
	return nil
}

// size writes width and height for an error.
func (o Options) size() string {
	return fmt.Sprintf("%.3g × %.3g cm", o.Width/vg.Centimeter, o.Height/vg.Centimeter)
}

// portableSVG makes an SVG look the same where Liberation Sans is not installed: it names
// fonts of the same widths, and the width of every text, for any other font to fill.
func portableSVG(svg []byte) []byte {
	svg = bytes.Map(func(c rune) rune {
		if c < ' ' && c != '\n' && c != '\t' {
			return '\uFFFD' // XML has no form for it
		}
		return c
	}, svg)
	svg = svgText.ReplaceAllFunc(svg, func(t []byte) []byte {
		m := svgText.FindSubmatch(t)
		size, err := strconv.ParseFloat(string(m[4]), 64)
		words := html.UnescapeString(string(m[5]))
		if err != nil || words == "" {
			return t
		}
		sty := style(vg.Length(size), inkColor)
		if string(m[3]) == "bold" {
			sty = bold(sty)
		}
		width := fmt.Sprintf(`<text textLength="%.2f" lengthAdjust="spacingAndGlyphs"`, float64(sty.Width(words)))
		return append([]byte(width), t[len("<text"):]...)
	})
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
}

// svgText matches a text element as the SVG canvas writes it: everything up
// to its style, the style up to the weight, weight, size in px, and the text.
var svgText = regexp.MustCompile(`<text ([^>]*?)style="([^"]*?)font-weight:(\w+);[^"]*?font-size:([0-9.]+)px[^"]*">([^<]*)</text>`)

// pdfText is a PDF canvas that accepts any text, and draws translucent colours as the other
// canvases do. The PDF canvas of gonum/plot hands UTF-8 on as if it were Windows-1252 and
// orders its fonts at random once there are two: bold text is in the regular face.
type pdfText struct {
	vg.Canvas
	lost *[]rune // letters that cannot be written are added; may be nil
}

// SetColor implements [vg.Canvas]. The PDF canvas takes multiplied colours for plain ones.
func (c pdfText) SetColor(col color.Color) {
	c.Canvas.SetColor(plain(color.NRGBAModel.Convert(col).(color.NRGBA)))
}

// plain is a colour that is not multiplied by its opacity.
type plain color.NRGBA

// RGBA implements [color.Color].
func (p plain) RGBA() (r, g, b, a uint32) {
	r, g, b, _ = color.NRGBA{R: p.R, G: p.G, B: p.B, A: 0xff}.RGBA()
	return r, g, b, 0x101 * uint32(p.A)
}

func (c pdfText) FillString(f font.Face, pt vg.Point, s string) {
	if f.Font.Weight != 0 {
		regular := f.Font
		regular.Weight = 0
		f = font.DefaultCache.Lookup(regular, regular.Size)
	}
	for _, r := range s {
		lose(c.lost, r, r != '?' && windows1252(string(r)) == "?")
	}
	c.Canvas.FillString(f, pt, windows1252(s))
}

// windows1252 encodes text for the PDF canvas, signs that it lacks in ASCII or as "?".
func windows1252(s string) string {
	ascii := map[rune]string{'−': "-", '≤': "<=", '≥': ">=", '→': "->", '≈': "~"}
	var b strings.Builder
	for _, r := range s {
		if enc, ok := charmap.Windows1252.EncodeRune(r); ok && r >= ' ' {
			b.WriteByte(enc)
		} else {
			b.WriteString(cmp.Or(ascii[r], "?"))
		}
	}
	return b.String()
}
