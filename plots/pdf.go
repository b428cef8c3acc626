package plots

import (
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// pdfText is a PDF canvas that accepts any text.
//
// The PDF canvas of gonum/plot hands UTF-8 on as if it were Windows-1252 and
// orders its fonts at random once there are two. pdfText encodes the text
// and draws bold text in the regular face, so that there is only one font.
type pdfText struct{ vg.Canvas }

// FillString implements [vg.Canvas].
func (c pdfText) FillString(f font.Face, pt vg.Point, s string) {
	if f.Font.Weight != 0 {
		regular := f.Font
		regular.Weight = 0
		f = font.DefaultCache.Lookup(regular, regular.Size)
	}
	c.Canvas.FillString(f, pt, windows1252(s))
}

// windows1252 encodes text in the code page of the PDF canvas. Signs it
// lacks become their usual ASCII spelling, else a question mark.
func windows1252(s string) string {
	special := map[rune]string{
		'–': "\x96", '—': "\x97", '…': "\x85", '•': "\x95", '‘': "\x91", '’': "\x92", '“': "\x93", '”': "\x94", '€': "\x80",
		'−': "-", '≤': "<=", '≥': ">=", '→': "->", '≈': "~",
	}
	var b strings.Builder
	for _, r := range s {
		switch enc, ok := special[r]; {
		case ok:
			b.WriteString(enc)
		case r >= ' ' && r < 0x80 || r >= 0xa0 && r <= 0xff:
			b.WriteByte(byte(r))
		default:
			b.WriteByte('?')
		}
	}
	return b.String()
}
