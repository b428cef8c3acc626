package data

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
	"strings"
)

// marks are how the numbers of a file are written. One file has one way:
// 1,024 alone may be a little more than one, or a thousand.
type marks struct {
	decimal string // "." or ","; empty while nothing tells
	line    int    // that tells it
	group   string // between thousands; empty where no number shows it
}

var (
	// figure is the number that a cell begins with, after a sign of money.
	figure = regexp.MustCompile(`^[^\d.,;\s]{0,4}\s?(\d[\d.,]*\d)`)
	// grouped is a number with a mark between all of its thousands.
	grouped = regexp.MustCompile(`^[1-9]\d{0,2}(?:(?:\.\d{3})+(?:,\d+)?|(?:,\d{3})+(?:\.\d+)?)$`)
)

// marksOf reads them off the first lines of a file. Marks that contradict each
// other, as versions among the cells do, tell nothing.
func marksOf(head []byte, comma rune) (found marks) {
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
			}
			if group != "" {
				found.group = group
			}
		}
	}
}

// tells returns the marks of one number, empty where it does not tell.
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

// plainNumber turns a cell into a number as programs write it.
func (r *Row) plainNumber(column, cell string) string {
	t := r.table
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
