package launch

import "bytes"

// maxLine bounds what is kept of one line of output; the rest is dropped.
const maxLine = 64 << 10

// lines cuts a stream of output into lines. A carriage return ends a line too:
// a progress bar may send no line feed until training is over.
type lines struct {
	part []byte // the beginning of an unfinished line
}

// split calls each with every line that text completes, without its terminator.
// Empty lines, such as within "\r\n", are left out.
func (l *lines) split(text []byte, each func(line string)) {
	for len(text) > 0 {
		part, rest, ended := bytes.Cut(text, []byte{'\n'})
		for drawn, next, more := bytes.Cut(part, []byte{'\r'}); more; drawn, next, more = bytes.Cut(part, []byte{'\r'}) {
			l.keep(drawn)
			l.end(each)
			part = next
		}
		l.keep(part)
		if text = rest; ended {
			l.end(each)
		}
	}
}

func (l *lines) end(each func(line string)) {
	line := string(l.part)
	l.part = l.part[:0]
	if line != "" {
		each(line)
	}
}

func (l *lines) keep(text []byte) {
	if room := maxLine - len(l.part); room > 0 {
		l.part = append(l.part, text[:min(room, len(text))]...)
	}
}
