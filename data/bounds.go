package data

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Bounds are the numbers that a column, key or flag takes. A number outside is damage or
// another unit; sums, products and ratios of numbers within stay finite.
type Bounds struct {
	What     string // the unit or quantity, such as "seconds"
	Min, Max float64
	Whole    bool   // no fractions
	Want     string // in messages; empty to derive it from the other fields
	units    units
}

// units maps a unit that may follow a number to its factor.
type units map[string]float64

// Seconds are times from 0 to 32 years.
func Seconds() Bounds { return Bounds{What: "seconds", Max: 1e9, units: timeUnits} }

// PositiveSeconds are times from a nanosecond to 32 years.
func PositiveSeconds() Bounds { return Bounds{What: "seconds", Min: 1e-9, Max: 1e9, units: timeUnits} }

// Samples are batches. Shares of a fixed global batch may be fractional.
func Samples() Bounds { return Bounds{What: "samples", Min: 1e-6, Max: maxBatch} }

// Bytes are amounts of device memory, from a MiB: less is in another unit.
func Bytes() Bounds {
	b := Bounds{What: "bytes, or a number with a unit such as 40 GiB or 43 GB", Want: "bytes, at least a MiB, or a number with a unit such as 40 GiB or 43 GB", Min: 1 << 20, Max: 1e18, units: units{"B": 1}}
	for _, u := range quantityUnits() {
		b.units[u.suffix], b.units[u.suffix+"B"] = float64(u.bytes), float64(u.bytes)
	}
	return b
}

func price(what string) Bounds { return Bounds{What: what, Max: 1e9, units: units{"$": 1, "USD": 1}} }

// Count are whole numbers of workers, nodes or steps.
func Count(min int) Bounds {
	return Bounds{What: "a whole number", Min: float64(min), Max: maxCount, Whole: true}
}

// Positive are amounts of work, rates and prices.
func Positive(what string) Bounds { return Bounds{What: what, Min: 1e-9, Max: maxAmount} }

// NonNegative is [Positive] with 0.
func NonNegative(what string) Bounds { return Bounds{What: what, Max: maxAmount} }

// Any are numbers of either sign: 0, or 1e-30 to 1e30, so that ratios are finite.
func Any(what string) Bounds { return Bounds{What: what, Min: -1e30, Max: 1e30} }

const (
	maxCount  = 1_000_000_000 // workers, servers, nodes, steps: more would overflow their products
	maxBatch  = 1e12
	maxAmount = 1e18
)

var timeUnits = units{"s": 1, "sec": 1, "seconds": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9, "min": 60, "h": 3600}

// String says what is wanted: "seconds > 0", "a whole number from 1 to 64".
func (b Bounds) String() string {
	switch {
	case b.Want != "":
		return b.Want
	case b.Whole:
		return b.What + " from " + plainText(b.Min) + " to " + plainText(b.Max)
	case b.Min > 0:
		return b.What + " > 0"
	case b.Min == 0:
		return b.What + " ≥ 0"
	}
	return b.What
}

// Instead is what is wanted in place of s, with an outer bound only if s exceeds it.
func (b Bounds) Instead(s string) string {
	switch v, err := strconv.ParseFloat(s, 64); {
	case b.Want != "" || b.Whole || err != nil && !errors.Is(err, strconv.ErrRange):
	case v > b.Max:
		return b.String() + ", at most " + plainText(b.Max)
	case b.Min < 0 && math.Abs(v) < 1/b.Max:
		return b.String() + ", 0 or of a size of at least " + plainText(1/b.Max)
	case v < b.Min && (b.Min < 0 || v > 0):
		return b.String() + ", at least " + plainText(b.Min)
	}
	return b.String()
}

// Holds reports whether v is within the bounds.
func (b Bounds) Holds(v float64) bool {
	return v >= b.Min && v <= b.Max && (!b.Whole || v == math.Trunc(v)) && (b.Min >= 0 || v == 0 || math.Abs(v) >= 1/b.Max)
}

// Parse reads a number, perhaps with one of the units; ok is false outside the bounds.
func (b Bounds) Parse(s string) (v float64, ok bool) {
	number, unit := strings.TrimSpace(s), 1.0
	if b.units["$"] != 0 {
		number = strings.TrimPrefix(number, "$")
	}
	if i := strings.LastIndexAny(number, "0123456789."); b.units != nil && i+1 < len(number) {
		if f, known := b.units[strings.TrimSpace(number[i+1:])]; known {
			number, unit = number[:i+1], f
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	v *= unit
	return v, err == nil && b.Holds(v)
}

// plainText writes a bound: 1000000000 and 1e-9, not 1e+09 and 1e-09.
func plainText(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) <= maxCount {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	s := strconv.FormatFloat(v, 'g', -1, 64)
	return strings.NewReplacer("e+0", "e", "e+", "e", "e-0", "e-").Replace(s)
}

// marks are the decimal and thousands marks of a file: 1,024 alone is ambiguous.
type marks struct {
	decimal string // "." or ","; empty if not known yet
	line    int    // where decimal was found
	group   string // between thousands; empty if no number shows it
}

// blankMarks stand between thousands in French, Swiss and SI numbers: blanks,
// also narrow and thin ones that do not break, and apostrophes.
const blankMarks = " \u00a0\u2009\u202f'’"

var (
	// figure matches the number at the start of a cell, after a currency sign.
	figure = regexp.MustCompile(`^[^\d.,;\s]{0,4}\s?(\d[\d.,]*\d)`)
	// blankGroups matches thousands apart by a mark that is never a decimal mark.
	blankGroups = regexp.MustCompile(`\b[1-9]\d{0,2}(?:[` + blankMarks + `]\d{3})+\b`)
	// groupedNumber matches a number with a mark between all of its thousands.
	groupedNumber = regexp.MustCompile(`^[1-9]\d{0,2}(?:(?:\.\d{3})+(?:,\d+)?|(?:,\d{3})+(?:\.\d+)?)$`)
)

// marksOf finds the marks in the first lines of a file. Contradictory marks, as
// from version numbers in cells, give none. Line numbers begin below above.
func marksOf(head []byte, comma rune, above int) (found marks) {
	r := csv.NewReader(bytes.NewReader(head))
	r.Comma, r.FieldsPerRecord, r.LazyQuotes = comma, -1, true
	for {
		cells, err := r.Read()
		if err != nil {
			return found
		}
		for i, cell := range cells {
			number := figure.FindStringSubmatch(strings.TrimSpace(cell))
			if number == nil {
				continue
			}
			decimal, group := tells(number[1])
			switch {
			case decimal == "":
			case found.decimal != "" && found.decimal != decimal || comma == ',' && decimal == ",":
				return marks{}
			case found.decimal == "":
				found.decimal = decimal
				found.line, _ = r.FieldPos(i)
				found.line += above
			}
			if group != "" {
				found.group = group
			}
		}
	}
}

// tells returns the marks of one number, empty if ambiguous.
func tells(number string) (decimal, group string) {
	points, commas := strings.Count(number, "."), strings.Count(number, ",")
	last, other := ".", ","
	if strings.LastIndex(number, ",") > strings.LastIndex(number, ".") {
		last, other = other, last
	}
	switch isGrouped := groupedNumber.MatchString(number); {
	case isGrouped && points > 0 && commas > 0: // 1.024,5
		return last, other
	case isGrouped && points+commas > 1: // 1.024.000
		return other, last
	case points+commas == 1 && !isGrouped: // 0.5
		return last, ""
	}
	return "", ""
}

// plainNumber rewrites a number with a decimal point and without thousands marks.
func (r *Row) plainNumber(column, cell string) string {
	t := r.table
	if strings.ContainsFunc(cell, func(c rune) bool { return c <= '\'' || c > unicode.MaxASCII }) { // hot: as few have
		cell = blankGroups.ReplaceAllStringFunc(cell, func(number string) string {
			return strings.Join(strings.FieldsFunc(number, func(c rune) bool { return strings.ContainsRune(blankMarks, c) }), "")
		})
	}
	mark := strings.LastIndexAny(cell, ".,")
	if mark < 0 || !t.comma && t.marks.group == "" {
		return cell
	}
	number := figure.FindStringSubmatch(cell)
	isGrouped := number != nil && groupedNumber.MatchString(number[1])
	switch is := cell[mark : mark+1]; {
	case isGrouped && t.marks.group != "" && (is == t.marks.group || strings.Contains(number[1], t.marks.group)):
		cell = strings.ReplaceAll(cell, t.marks.group, "")
	case t.marks.decimal == "" && isGrouped && t.comma:
		r.Bad(column, "an unambiguous number: "+number[1]+" may have a decimal mark or a mark between thousands; write it without one, or with another number of decimals")
	case t.marks.decimal == "":
		t.marks.decimal, t.marks.line = is, r.Line
	case t.marks.decimal != is:
		r.Bad(column, fmt.Sprintf("the decimal mark %q, as in line %d", t.marks.decimal, t.marks.line))
	}
	return strings.Replace(cell, t.marks.decimal, ".", 1)
}

// quantityUnits are the suffixes of ParseQuantity, as in Kubernetes; those of 1024 first, to
// be preferred in writing.
func quantityUnits() []quantityUnit {
	return []quantityUnit{
		{"Ei", 1 << 60}, {"Pi", 1 << 50}, {"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10},
		{"E", 1e18}, {"P", 1e15}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"K", 1e3},
	}
}

type quantityUnit struct {
	suffix string
	bytes  int64
}

// ParseQuantity reads an amount of memory: "80Gi", "1.5Ti", "512M", "80GiB", "1024". It is
// rounded to whole bytes; it must be ≥ 0 and fit an int64.
func ParseQuantity(s string) (int64, error) {
	number, unit := strings.TrimSuffix(s, "B"), int64(1)
	for _, u := range quantityUnits() {
		if rest, found := strings.CutSuffix(number, u.suffix); found {
			number, unit = rest, u.bytes
			break
		}
	}
	bad := fmt.Errorf("quantity %q: want bytes ≥ 0 such as 80Gi, 1.5Ti, 512M or 1024", s)
	// Digits and one point only: an exponent could give a huge number.
	if number == "" || len(number) > 40 || strings.Trim(number, "0123456789.") != "" {
		return 0, bad
	}
	amount, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, bad
	}
	amount.Mul(amount, new(big.Rat).SetInt64(unit))
	amount.Add(amount, big.NewRat(1, 2))
	bytes := new(big.Int).Quo(amount.Num(), amount.Denom())
	if !bytes.IsInt64() {
		return 0, fmt.Errorf("quantity %q: want at most %d bytes", s, int64(1<<63-1))
	}
	return bytes.Int64(), nil
}

// FormatQuantity returns the shortest text that reads back exactly: "80Gi", "96G", "1025".
func FormatQuantity(bytes int64) string {
	best := strconv.FormatInt(bytes, 10)
	if bytes == 0 {
		return best
	}
	for _, u := range quantityUnits() {
		if bytes%u.bytes != 0 {
			continue
		}
		if s := strconv.FormatInt(bytes/u.bytes, 10) + u.suffix; len(s) < len(best) || (len(s) == len(best) && best[len(best)-1] <= '9') {
			best = s
		}
	}
	return best
}

const day = 24 * time.Hour

// ParseDuration reads a duration ≥ 0: "2h30m", "1d12h", "1.5d", or plain seconds.
func ParseDuration(s string) (time.Duration, error) {
	const digits = "0123456789.e" // not other forms that strconv takes, such as Inf or 0x1p4
	number, unit, rest := s, time.Second, "0"
	if days, after, found := strings.Cut(s, "d"); found {
		number, unit, rest = days, day, cmp.Or(after, rest)
	} else if strings.Trim(s, digits) != "" {
		number, rest = "0", s
	}
	v, err := strconv.ParseFloat(number, 64)
	more, bad := time.ParseDuration(rest)
	d := math.Round(v * float64(unit))
	if err != nil || bad != nil || strings.Trim(number, digits) != "" || strings.ContainsAny(rest, "+-") || d >= math.MaxInt64 || time.Duration(d) > math.MaxInt64-more {
		return 0, fmt.Errorf("duration %q: want a time ≥ 0 such as 90s, 2h30m, 1d12h or plain seconds", s)
	}
	return time.Duration(d) + more, nil
}

// FormatDuration returns a short text that reads back as d ≥ 0: "6h", "1d12h", "1m30s".
func FormatDuration(d time.Duration) string {
	var days string
	if d >= day {
		days = strconv.FormatInt(int64(d/day), 10) + "d"
		if d %= day; d == 0 {
			return days
		}
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return days + s
}
