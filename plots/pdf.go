package plots

import (
	"cmp"
	"strings"

	"golang.org/x/text/encoding/charmap"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// pdfText is a PDF canvas that accepts any text.
//
// The PDF canvas of gonum/plot hands UTF-8 on as if it were Windows-1252 and
// orders its fonts at random once there are two. pdfText encodes the text
// and draws bold text in the regular face, so that there is only one font.
type pdfText struct{ vg.Canvas }

func (c pdfText) FillString(f font.Face, pt vg.Point, s string) {
	if f.Font.Weight != 0 {
		regular := f.Font
		regular.Weight = 0
		f = font.DefaultCache.Lookup(regular, regular.Size)
	}
	c.Canvas.FillString(f, pt, windows1252(s))
}

// windows1252 encodes text in the code page of the PDF canvas. Some signs that it
// lacks get an ASCII spelling, others a question mark.
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
