package export

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
)

var (
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	nodeName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	word     = regexp.MustCompile(`^[A-Za-z0-9_.,:+@/=-]+$`)
	notLabel = regexp.MustCompile(`[^a-z0-9]+`)
)

// maxLabel leaves room in the 63 characters of a DNS-1123 label for the suffix of the
// Kubeflow operators, "-worker-" and an index.
const maxLabel = 50

// label turns a job name into a DNS-1123 label. A name that is cut, or has no valid
// character, gets a checksum, so that different names stay different.
func label(name string) string {
	s := strings.Trim(notLabel.ReplaceAllString(strings.ToLower(name), "-"), "-")
	switch {
	case s == "":
		return "job-" + checksum(name)
	case s[0] >= '0' && s[0] <= '9':
		s = "job-" + s
	}
	if len(s) > maxLabel {
		s = strings.TrimRight(s[:maxLabel-9], "-") + "-" + checksum(name)
	}
	return s
}

func checksum(s string) string {
	h := fnv.New32a()
	h.Write([]byte(s))
	return fmt.Sprintf("%08x", h.Sum32())
}

// shell quotes a word for a POSIX shell, unless it has no special characters.
func shell(s string) string {
	if word.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shell(w)
	}
	return strings.Join(quoted, " ")
}

// comment makes text safe after a "#": one printable line.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, s)
}
