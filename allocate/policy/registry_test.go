package policy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPoliciesAreDocumented: docs/policies.md has a row for every policy, in the order of
// the registry, with its source, whether it is faithful, and what the registry says.
func TestPoliciesAreDocumented(t *testing.T) {
	const page = "../../docs/policies.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.Split(strings.TrimSuffix(strings.TrimSpace(line), "|"), " |"))
		}
	}
	all := policies()
	if len(rows) != len(all) || len(slices.Compact(Names())) != len(all) {
		t.Fatalf("%d rows in %s and %d names, want one for each of %d policies", len(rows), page, len(slices.Compact(Names())), len(all))
	}
	for i, e := range all {
		round := "event"
		if e.round > 0 {
			round = fmt.Sprintf("%g s", e.round)
		}
		row := rows[i]
		for n := range row {
			row[n] = strings.TrimSpace(row[n])
		}
		row[0] = strings.TrimPrefix(row[0], "| ")
		if want := []string{"`" + e.name + "`", row[1], row[2], round, strings.ReplaceAll(e.needs, " ", ", ")}; !slices.Equal(row[:5], want) {
			t.Errorf("%s: row %q, want %q", page, row, want)
		}
		if how := row[2]; row[1] == "" || how != "ours" && how != "faithful" && !strings.HasPrefix(how, "simplified: ") {
			t.Errorf("%s: %s has the source %q and is %q, want a publication, and ours, faithful or simplified: …", page, e.name, row[1], how)
		}
	}
}
