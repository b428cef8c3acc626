package hostlist

import (
	"fmt"
	"strconv"
	"strings"
)

// Compress returns a short list that [Expand] turns back into hosts, in the
// same order. Neighbours that differ only in their last number are folded
// into one bracket group. The names must be such as Expand returns.
func Compress(hosts []string) string {
	var entries []string
	for i := 0; i < len(hosts); {
		n, entry := fold(hosts[i:])
		entries = append(entries, entry)
		i += n
	}
	return strings.Join(entries, ",")
}

// fold writes the longest run of foldable names at the start of hosts as one
// entry, and returns the length of the run.
func fold(hosts []string) (int, string) {
	first := cut(hosts[0])
	if first.digits == "" {
		return 1, hosts[0]
	}
	run := []numbered{first}
	for _, h := range hosts[1:] {
		next := cut(h)
		if next.digits == "" || next.prefix != first.prefix || next.suffix != first.suffix {
			break
		}
		run = append(run, next)
	}
	if len(run) == 1 {
		return 1, hosts[0]
	}
	return len(run), first.prefix + "[" + strings.Join(ranges(run), ",") + "]" + first.suffix
}

// ranges folds consecutive numbers of equal padding into lo-hi.
func ranges(run []numbered) []string {
	var out []string
	for i := 0; i < len(run); {
		lo, j := run[i], i+1
		// The padding of a range is the width of its lower end, so 9 goes on
		// to 10 but 09 does not come after 8.
		for j < len(run) && run[j].value == run[j-1].value+1 &&
			run[j].digits == fmt.Sprintf("%0*d", len(lo.digits), run[j].value) {
			j++
		}
		if j-i == 1 {
			out = append(out, lo.digits)
		} else {
			out = append(out, lo.digits+"-"+run[j-1].digits)
		}
		i = j
	}
	return out
}

// numbered is a name cut at its last run of digits; digits is empty if there
// is none that a range can hold.
type numbered struct {
	prefix, digits, suffix string
	value                  int
}

func cut(name string) numbered {
	const digits = "0123456789"
	end := strings.LastIndexAny(name, digits) + 1
	start := len(strings.TrimRight(name[:end], digits))
	if end == 0 || end-start > maxDigits {
		return numbered{}
	}
	value, err := strconv.Atoi(name[start:end])
	if err != nil {
		return numbered{}
	}
	return numbered{prefix: name[:start], digits: name[start:end], suffix: name[end:], value: value}
}
