package term

import (
	"io"
	"strings"
	"unicode/utf8"
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
		if utf8.RuneCountInString(line) <= width {
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
	if utf8.RuneCountInString(s) <= width {
		return []string{s}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
		for utf8.RuneCountInString(line) > width {
			letters := []rune(line)
			lines = append(lines, string(letters[:width]))
			line = string(letters[width:])
		}
	}
	return append(lines, line)
}
