package policy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"knee/data"
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

// TestTenantWeights: of two tenants with two equal jobs each, the one of more weight gets
// more of three GPUs by the policies that the registry says use weights, and no other.
func TestTenantWeights(t *testing.T) {
	var use []string
	for _, e := range policies() {
		var first []int
		for _, heavy := range []string{"red", "blue"} {
			s := stateOf(200, 3, 0)
			for _, tenant := range []string{"red", "blue", "red", "blue"} {
				j := gangOf(tenant+fmt.Sprint(len(s.Jobs)), 0, 1, 1000)
				j.History.Tenant, j.History.Ran, j.Attained, j.Remaining = tenant, 100, 100, 1000
				s.Jobs = append(s.Jobs, j)
			}
			s.Tenants = map[string]data.Tenant{"red": {Weight: 1}, "blue": {Weight: 1}, heavy: {Weight: 100}}
			made, err := e.make().Allocate(s)
			if err != nil {
				t.Fatal(e.name, err)
			}
			if first == nil {
				first = made.Choice
			} else if !slices.Equal(first, made.Choice) {
				use = append(use, e.name)
			}
		}
	}
	slices.Sort(use)
	if want := taking(tenantWeights); !slices.Equal(use, want) {
		t.Errorf("%v use the weights of tenants, the registry says %v", use, want)
	}
}
