// Package term is for output to a terminal: whether there is one, its width, lines
// and tables wrapped to the width, and progress of a long computation.
package term

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Is reports whether w is a terminal.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the columns that text for w may take: those of the terminal,
// at most 120, or 80 where there is none.
func Width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 20 {
			return min(width, 120)
		}
	}
	return 80
}

// Colourful reports whether a terminal may be sent colours: not if NO_COLOR is
// set (https://no-color.org) or TERM is dumb.
func Colourful() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }
