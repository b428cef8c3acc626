package plots

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/rivo/uniseg"
)

// Bar is one row of a [Terminal] figure.
type Bar struct {
	Label        string // such as "8 workers"
	Mean, Lo, Hi float64
	Note         string // such as "knee"
}

// eighths are the blocks that end a bar, an eighth of a column apart.
const eighths = "▏▎▍▌▋▊▉█"

// Terminal writes bars as text of at most width columns (80 if 0): solid up to
// the low end of the interval, shaded to the high end, the mean in figures
// behind. It uses block characters and no colour.
func Terminal(w io.Writer, title string, bars []Bar, width int) error {
	if width <= 0 {
		width = 80
	}
	longest, most, values := 0, 0.0, 0
	text := make([]string, len(bars))
	for i, b := range bars {
		if err := finite(fmt.Sprintf("bars[%d]", i), b.Mean); err != nil {
			return err
		}
		longest = max(longest, uniseg.StringWidth(b.Label))
		most = math.Max(most, math.Max(b.Mean, b.Hi))
		text[i] = number(b.Mean)
		if b.Hi > b.Lo {
			text[i] += fmt.Sprintf(" (%s–%s)", number(b.Lo), number(b.Hi))
		}
		if b.Note != "" {
			text[i] += " " + b.Note
		}
		values = max(values, uniseg.StringWidth(text[i]))
	}
	room := max(10, width-longest-values-3)
	var out strings.Builder
	fmt.Fprintln(&out, title)
	for i, b := range bars {
		pad := strings.Repeat(" ", longest-uniseg.StringWidth(b.Label))
		bar := blocks(b, float64(room)/most)
		space := strings.Repeat(" ", max(0, room-uniseg.StringWidth(bar)))
		fmt.Fprintf(&out, "%s%s ▕%s%s %s\n", pad, b.Label, bar, space, text[i])
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// blocks draws one bar, scale columns to the unit.
func blocks(b Bar, scale float64) string {
	if !(scale > 0) || math.IsInf(scale, 0) {
		return ""
	}
	solid := b.Mean
	if b.Hi > b.Lo {
		solid = math.Max(0, b.Lo)
	}
	n := int(math.Round(solid * scale * 8))
	s := strings.Repeat("█", n/8)
	shaded := int(math.Round(b.Hi*scale)) - n/8
	if n%8 > 0 {
		s += string([]rune(eighths)[n%8-1])
		shaded--
	}
	return s + strings.Repeat("░", max(0, shaded))
}
