package plots

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

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

// pngDPI is the resolution of PNG files: twice the 96 dots per inch of a
// classic screen, so that figures are sharp on dense screens.
const pngDPI = 192

// Render writes the figure to w in one of the formats of [Formats]. The
// bytes depend on the figure only.
func Render(w io.Writer, format string, fig Figure) error {
	out, err := render(format, fig)
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}

// Save writes the figure to a file, in the format its extension names:
// .svg, .png or .pdf. The file appears whole or not at all.
func Save(path string, fig Figure) error {
	format, err := formatOf(path)
	if err != nil {
		return err
	}
	out, err := render(format, fig)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return data.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(out)
		return err
	})
}

// formatOf returns the format that the extension of a path names.
func formatOf(path string) (string, error) {
	ext := strings.ToLower(filepath.Ext(path))
	for _, f := range Formats() {
		if ext == "."+f {
			return f, nil
		}
	}
	found := fmt.Sprintf("extension %q", ext)
	if ext == "" {
		found = "no extension"
	}
	return "", &data.InputError{Source: data.Source{File: path}, Found: found, Want: "a file name that ends in .svg, .png or .pdf"}
}

// render draws the figure into memory. gonum/plot panics on bad input; New functions
// refuse it, and a panic that still occurs is returned as an error.
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
		fig.Draw(draw.NewCanvas(pngText{c}, w, h))
		_, err = c.WriteTo(&buf)
		return buf.Bytes(), err
	case "pdf":
		c := vgpdf.New(w, h)
		fig.Draw(draw.NewCanvas(pdfText{c}, w, h))
		_, err = c.WriteTo(&buf)
		return undatedPDF(buf.Bytes()), err
	}
	return nil, bad("format", fmt.Sprintf("%q", format), "svg, png or pdf")
}

// pdfDate matches the creation and modification times of a PDF file.
var pdfDate = regexp.MustCompile(`Date \(D:\d{14}\)`)

// undatedPDF replaces the times in a PDF file by a fixed one of the same
// length, so that equal figures are equal files.
func undatedPDF(pdf []byte) []byte {
	return pdfDate.ReplaceAll(pdf, []byte("Date (D:20000101000000)"))
}
