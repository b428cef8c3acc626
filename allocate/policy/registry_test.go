package policy

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of policies anew")

// TestPoliciesAreDocumented: every policy has its source, and the table of
// docs/policies.md is what the registry says.
func TestPoliciesAreDocumented(t *testing.T) {
	const page = "../../docs/policies.md"
	var names []string
	table := "| policy | source | | decides every | needs |\n| --- | --- | --- | --- | --- |\n"
	for _, s := range policies() {
		names = append(names, s.name)
		how, round, needs := "faithful", "event", strings.ReplaceAll(s.needs, " ", ", ")
		if strings.HasPrefix(s.source, "this project") {
			how = "ours"
		}
		if s.simplified != "" {
			how = "simplified: " + s.simplified
		}
		if s.round > 0 {
			round = fmt.Sprintf("%g s", s.round)
		}
		if s.source == "" {
			t.Errorf("%s has no source", s.name)
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", s.name, s.source, how, round, needs)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(policies()) {
		t.Errorf("a name twice: %v", names)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- policies -->\n", "<!-- end -->\n"
	before, rest, ok := strings.Cut(string(text), from)
	old, after, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+from+table+to+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != table {
		t.Errorf("%s is not what the registry says; go test ./allocate/policy -run Documented -update writes it", page)
	}
}
