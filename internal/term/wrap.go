package term

import (
	"io"
	"strings"

	"github.com/rivo/uniseg"
)

// Hanging breaks lines that are wider than the terminal they are written to at
// blanks, what is carried over below where the text of the line begins. Lines
// for a file or a pipe stay as they are.
func Hanging(w io.Writer, text string) string {
	if !Is(w) {
		return text
	}
	return hangingAt(text, Width(w))
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
		for i, part := range Wrap(line[len(head):], width-indent) {
			if i > 0 {
				head = strings.Repeat(" ", indent)
			}
			out = append(out, head+part)
		}
	}
	return strings.Join(out, "\n")
}

// textBegins is where the text of a line begins: behind its indentation, a
// dash, or the name of what it is about, set off by two blanks or more.
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

// Wrap breaks a text at blanks into lines of at most width columns, and
// a word that is longer wherever the line ends.
func Wrap(s string, width int) []string {
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

// split cuts a text after at most width columns, but after one letter at least.
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
