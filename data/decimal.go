package data

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
	"strings"
)

// marks are the decimal and thousands marks of a file, the same for all its
// numbers: 1,024 alone is ambiguous.
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
	// blankGroups matches a number whose thousands are apart by a mark that is
	// never a decimal mark.
	blankGroups = regexp.MustCompile(`\b[1-9]\d{0,2}(?:[` + blankMarks + `]\d{3})+\b`)
	// grouped matches a number with a mark between all of its thousands.
	grouped = regexp.MustCompile(`^[1-9]\d{0,2}(?:(?:\.\d{3})+(?:,\d+)?|(?:,\d{3})+(?:\.\d+)?)$`)
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
	switch isGrouped := grouped.MatchString(number); {
	case isGrouped && points > 0 && commas > 0: // 1.024,5
		return last, other
	case isGrouped && points+commas > 1: // 1.024.000
		return other, last
	case points+commas == 1 && !isGrouped: // 0.5
		return last, ""
	}
	return "", ""
}

// plainNumber rewrites the number in a cell with a decimal point and without
// thousands marks.
func (r *Row) plainNumber(column, cell string) string {
	t := r.table
	cell = blankGroups.ReplaceAllStringFunc(cell, func(number string) string {
		return strings.Map(func(c rune) rune {
			if strings.ContainsRune(blankMarks, c) {
				return -1
			}
			return c
		}, number)
	})
	mark := strings.LastIndexAny(cell, ".,")
	if mark < 0 || !t.comma && t.marks.group == "" {
		return cell
	}
	number := figure.FindStringSubmatch(cell)
	isGrouped := number != nil && grouped.MatchString(number[1])
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
