package hostlist

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits keep a typing error such as [1-99999999] from taking all memory.
// The largest machines in use have some ten thousand nodes.
const (
	MaxHosts     = 65536   // names one list may expand to
	maxListBytes = 1 << 20 // length of a list
	maxNameBytes = 253     // length of one expanded name, the limit of DNS
	maxDigits    = 9       // digits of a number inside brackets
)

// Expand returns the host names of list, in order and with duplicates. The error
// names the wrong entry and what was wanted.
func Expand(list string) ([]string, error) {
	if len(list) > maxListBytes {
		return nil, fmt.Errorf("host list of %d bytes: want at most %d", len(list), maxListBytes)
	}
	entries, err := split(list)
	if err != nil {
		return nil, err
	}
	var hosts []string
	for _, e := range entries {
		names, err := expandEntry(e, MaxHosts-len(hosts))
		if err != nil {
			return nil, fmt.Errorf("host list entry %q: %w", e, err)
		}
		hosts = append(hosts, names...)
	}
	return hosts, nil
}

// split splits a list at the commas outside brackets.
func split(list string) ([]string, error) {
	var entries []string
	start, open := 0, false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '[' && open:
			return nil, fmt.Errorf("host list %q: nested [ at byte %d", list, i+1)
		case c == '[':
			open = true
		case c == ']' && !open:
			return nil, fmt.Errorf("host list %q: ] without [ at byte %d", list, i+1)
		case c == ']':
			open = false
		case c == ',' && !open:
			entries = append(entries, list[start:i])
			start = i + 1
		}
	}
	if open {
		return nil, fmt.Errorf("host list %q: [ without ]", list)
	}
	entries = append(entries, list[start:])
	for i, e := range entries {
		entries[i] = strings.TrimSpace(e)
		if entries[i] == "" {
			return nil, fmt.Errorf("host list %q: entry %d is empty; want names such as a[01-04],b3", list, i+1)
		}
	}
	return entries, nil
}

// expandEntry expands one entry, with checked brackets, to at most limit names.
func expandEntry(entry string, limit int) ([]string, error) {
	names := []string{""}
	for entry != "" {
		text, rest, found := strings.Cut(entry, "[")
		if err := checkText(text); err != nil {
			return nil, err
		}
		group, after := []string{""}, ""
		if found {
			var inside string
			inside, after, _ = strings.Cut(rest, "]")
			var err error
			if group, err = expandGroup(inside, limit); err != nil {
				return nil, err
			}
		}
		if len(names)*len(group) > limit {
			return nil, fmt.Errorf("want at most %d names in a list", MaxHosts)
		}
		longer := make([]string, 0, len(names)*len(group))
		for _, n := range names {
			for _, g := range group {
				longer = append(longer, n+text+g)
			}
		}
		names = longer
		entry = after
	}
	if len(names) > limit {
		return nil, fmt.Errorf("want at most %d names in a list", MaxHosts)
	}
	longest := slices.MaxFunc(names, func(a, b string) int { return len(a) - len(b) })
	if len(longest) > maxNameBytes {
		return nil, fmt.Errorf("a name of %d bytes: want at most %d", len(longest), maxNameBytes)
	}
	return names, nil
}

func checkText(s string) error {
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("-_.:", c):
		default:
			return fmt.Errorf("%q cannot be part of a host name; want letters, digits and any of -_.: only", c)
		}
	}
	return nil
}

func expandGroup(inside string, limit int) ([]string, error) {
	var out []string
	for part := range strings.SplitSeq(inside, ",") {
		loText, hiText, isRange := strings.Cut(part, "-")
		if !isRange {
			hiText = loText
		}
		lo, err := number(loText, part)
		if err != nil {
			return nil, err
		}
		hi, err := number(hiText, part)
		if err != nil {
			return nil, err
		}
		if hi < lo {
			return nil, fmt.Errorf("range %q runs backwards", part)
		}
		if len(out)+hi-lo+1 > limit {
			return nil, fmt.Errorf("range %q: want at most %d names in a list", part, MaxHosts)
		}
		for n := lo; n <= hi; n++ {
			out = append(out, fmt.Sprintf("%0*d", len(loText), n))
		}
	}
	return out, nil
}

// number reads one end of the range part.
func number(s, part string) (int, error) {
	bad := s == "" || len(s) > maxDigits || strings.Trim(s, "0123456789") != ""
	n, err := strconv.Atoi(s)
	if bad || err != nil {
		return 0, fmt.Errorf("range %q: %q is not a number of 1 to %d digits; want ranges such as 01-04,07", part, s, maxDigits)
	}
	return n, nil
}
