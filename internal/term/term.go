// Package term is for output to a terminal: whether there is one, its width, lines
// and tables wrapped to the width, and progress of a long computation.
package term

import (
	"io"
	"os"

	"golang.org/x/term"
)

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// widthOf returns the columns that text for w may take: those of the terminal,
// at most 120, or 80 where there is none.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 20 {
			return min(width, 120)
		}
	}
	return 80
}

// colourful reports whether a terminal may be sent colours: not if NO_COLOR is
// set (https://no-color.org) or TERM is dumb.
func colourful() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }
