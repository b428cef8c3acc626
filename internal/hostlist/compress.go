package hostlist

import (
	"fmt"
	"strconv"
	"strings"
)

// Compress returns a short list that [Expand] expands to hosts, in the same order.
// Neighbours that differ only in their last number become one bracket group. The
// names must be valid for Expand.
func Compress(hosts []string) string {
	var entries []string
	for len(hosts) > 0 {
		head := cut(hosts[0])
		if head.digits == "" {
			entries, hosts = append(entries, hosts[0]), hosts[1:]
			continue
		}
		var ranges []string
		for len(hosts) > 0 {
			lo := cut(hosts[0])
			if lo.digits == "" || lo.prefix != head.prefix || lo.suffix != head.suffix {
				break
			}
			// The padding of a range is the width of its lower end: 8-10 is 8, 9, 10,
			// and 09 cannot follow 8.
			n, text := 1, lo.digits
			for n < len(hosts) && lo.value+n < 1e9 && hosts[n] == fmt.Sprintf("%s%0*d%s", lo.prefix, len(lo.digits), lo.value+n, lo.suffix) {
				n++
			}
			if n > 1 {
				text += fmt.Sprintf("-%0*d", len(lo.digits), lo.value+n-1)
			}
			ranges, hosts = append(ranges, text), hosts[n:]
		}
		middle := ranges[0]
		if len(ranges) > 1 || len(middle) > len(head.digits) {
			middle = "[" + strings.Join(ranges, ",") + "]"
		}
		entries = append(entries, head.prefix+middle+head.suffix)
	}
	return strings.Join(entries, ",")
}

// numbered is a name split at its last run of digits, if a range can have that.
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
