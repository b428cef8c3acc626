package term

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// wrapped is a table as a terminal of a width shows it.
func wrapped(t rapid.TB, tab *Table, width int) string {
	t.Helper()
	var b strings.Builder
	if err := tab.wrapped(&b, width, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrappedTable(t *testing.T) {
	tab := &Table{Columns: []string{"job", "workers", "ps", "reason"}}
	tab.Rows = append(tab.Rows, []string{"resnet", "8", "", "going from 4 to 8 raised its goodput by 40 %; 16 would raise it by 10 %"})
	tab.Rows = append(tab.Rows, []string{"bert", "1", "", "waits"})
	got := wrapped(t, tab, 40)
	want := `job     workers
resnet  8
    going from 4 to 8 raised its goodput
    by 40 %; 16 would raise it by 10 %
bert    1
    waits
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Nothing is lost by wrapping, and lines keep to the width where words do.
func TestWrapKeepsEveryWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := &Table{Columns: []string{"a", "b", "c"}}
		var words []string
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			var cells []string
			for range 3 {
				cell := strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-zé–]{1,9}`), 0, 12).Draw(t, "words"), " ")
				words = append(words, strings.Fields(cell)...)
				cells = append(cells, cell)
			}
			tab.Rows = append(tab.Rows, cells)
		}
		got := wrapped(t, tab, 60)
		text := strings.Join(strings.Fields(got), " ")
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Fatalf("%q is lost in\n%s", w, got)
			}
		}
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 60 {
				t.Fatalf("a line of %d columns: %q", n, line)
			}
		}
	})
}

// An error that few rows have does not narrow all of them.
func TestRareRemarkGoesBelow(t *testing.T) {
	tab := &Table{Columns: []string{"config", "status", "error"}}
	tab.Rows = append(tab.Rows, []string{"1 worker, allreduce", "ok", ""})
	tab.Rows = append(tab.Rows, []string{"2 workers, allreduce", "ok", ""})
	tab.Rows = append(tab.Rows, []string{"4 workers, allreduce", "failed", "exit status 3"})
	got := wrapped(t, tab, 32)
	want := `config                status
1 worker, allreduce   ok
2 workers, allreduce  ok
4 workers, allreduce  failed
    exit status 3
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What every row says is said once, and heads come before the rows they are of.
func TestWideTable(t *testing.T) {
	tab := &Table{Columns: []string{"workers", "gpu", "batch", "step"}}
	tab.Heads, tab.Rows = append(tab.Heads, "allreduce"), append(tab.Rows, []string{"1", "a100", "a batch of 32", "17 ms"})
	tab.Heads, tab.Rows = append(tab.Heads, "allreduce"), append(tab.Rows, []string{"2", "a100", "a batch of 64", "19 ms"})
	tab.Heads, tab.Rows = append(tab.Heads, "ps-sync"), append(tab.Rows, []string{"2", "a100", "a batch of 64", "21 ms"})
	got := wrapped(t, tab, 30)
	want := `every row: gpu a100
workers  batch          step
allreduce
1        a batch of 32  17 ms
2        a batch of 64  19 ms
ps-sync
2        a batch of 64  21 ms
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
