// Package term is for terminals: width, wrapped lines and tables, progress.
package term

import (
	"io"
	"os"
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// widthOf returns the columns for text: the terminal's, at most 120; 80 without one.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 20 {
			return min(width, 120)
		}
	}
	return 80
}

// Hanging wraps lines that are wider than the terminal w at blanks, indented to where the
// text of the line begins. If w is no terminal the text is unchanged.
func Hanging(w io.Writer, text string) string {
	if !isTerminal(w) {
		return text
	}
	return hangingAt(text, widthOf(w))
}

func hangingAt(text string, width int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if uniseg.StringWidth(line) <= width {
			out = append(out, line)
			continue
		}
		head := line[:textBegins(line)]
		indent := max(2, len(head))
		for i, part := range wrap(line[len(head):], width-indent) {
			if i > 0 {
				head = strings.Repeat(" ", indent)
			}
			out = append(out, head+part)
		}
	}
	return strings.Join(out, "\n")
}

// textBegins is the byte behind indentation, a dash, or a first word and two blanks.
func textBegins(line string) int {
	begin := len(line) - len(strings.TrimLeft(line, " "))
	rest := line[begin:]
	if strings.HasPrefix(rest, "- ") {
		return begin + 2
	}
	if gap := strings.Index(rest, "  "); begin > 0 && gap > 0 && !strings.Contains(rest[:gap], " ") {
		return begin + len(rest) - len(strings.TrimLeft(rest[gap:], " "))
	}
	return begin
}

// wrap breaks a text at blanks into lines of at most width columns; longer words too.
func wrap(s string, width int) []string {
	if uniseg.StringWidth(s) <= width {
		return []string{s}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = word
		case uniseg.StringWidth(line)+1+uniseg.StringWidth(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
		for uniseg.StringWidth(line) > width {
			head, rest := split(line, width)
			lines, line = append(lines, head), rest
		}
	}
	return append(lines, line)
}

// split splits a text after at most width columns, and at least one character.
func split(s string, width int) (head, rest string) {
	letter, rest, columns, state := uniseg.FirstGraphemeClusterInString(s, -1)
	for used := columns; ; used += columns {
		head += letter
		letter, s, columns, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if letter == "" || used+columns > width {
			return head, rest
		}
		rest = s
	}
}
