// Package mutate damages input files as people, programs and disks do, for tests
// of readers. The same seed gives the same damage.
package mutate

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
)

// Numbers and names in a text.
var (
	number = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?`)
	word   = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_-]*`)
)

// numbers replace a number: the limits of float64 and int64, values that overflow
// when added, squared or divided by, and texts that are no number.
var numbers = []string{"0", "1", "-1", "3", "1e-9", "1e-6", "1e-308", "5e-324", "1e9", "1e12", "1e15", "1e18", "1e30", "1e154", "1e300", "1e307", "1.7976931348623157e308",
	"0.1", "1e-3", "2147483648", "1e309", "-0", "NaN", "nan", "Inf", "-Inf", "9223372036854775807", "18446744073709551616", "", "abc", "1,5", "0x1p4", "1_000", "null", "[1]"}

// plainNumbers is how many of them, from the first, are numbers in any format.
const plainNumbers = 19

// texts replace a name.
var texts = []string{"", "\x1b[31mred", "\x01", "\x00", "\u202e", "\xff\xfe", "a\nb", `"`, "'", ",", ";", "|", "{{.Nodes}}", "$(reboot)", "../../etc/passwd", "<script>",
	"true", "null", "~", "*a", "&a", "<<", "%s%n", "é", strings.Repeat("x", 300_000), strings.Repeat("[", 5000), strings.Repeat("1-", 5000) + "1"}

// Bytes returns a copy of a file with one to three damages. Half of the copies
// have only numbers replaced, and most of these can be parsed; the others have
// damaged numbers, words, bits, lines and pieces.
func Bytes(r *rand.Rand, file []byte) []byte {
	out := bytes.Clone(file)
	numbersOnly := r.IntN(2) == 0
	for range 1 + r.IntN(3) {
		if numbersOnly {
			out = replace(r, out, number, numbers[:plainNumbers])
		} else {
			out = once(r, out)
		}
	}
	return out
}

func once(r *rand.Rand, b []byte) []byte {
	if len(b) == 0 {
		return []byte(pick(r, texts))
	}
	at := r.IntN(len(b))
	switch r.IntN(10) {
	case 0, 1, 2, 3:
		return replace(r, b, number, numbers)
	case 4, 5:
		return replace(r, b, word, texts)
	case 6: // a flipped bit
		b[at] ^= 1 << r.IntN(8)
		return b
	case 7: // cut short
		return b[:at]
	case 8: // a repeated line
		lines := bytes.SplitAfter(b, []byte("\n"))
		k := r.IntN(len(lines))
		return bytes.Join(append(lines[:k:k], append(bytes.SplitAfter(bytes.Repeat(lines[k], 1+r.IntN(200)), []byte("\n")), lines[k:]...)...), nil)
	}
	// A piece moved somewhere else.
	to := r.IntN(len(b))
	piece := bytes.Clone(b[at:min(len(b), at+1+r.IntN(40))])
	return append(b[:to:to], append(piece, b[to:]...)...)
}

// replace replaces one match by one of the values.
func replace(r *rand.Rand, b []byte, what *regexp.Regexp, values []string) []byte {
	all := what.FindAllIndex(b, -1)
	if len(all) == 0 {
		return append(b, pick(r, values)...)
	}
	m := all[r.IntN(len(all))]
	return append(b[:m[0]:m[0]], append([]byte(pick(r, values)), b[m[1]:]...)...)
}

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }
