package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// wrapped is a table as a terminal of a width shows it.
func wrapped(t rapid.TB, tab *table, width int) string {
	t.Helper()
	s, err := tab.written(number)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := s.wrapped(&b, width, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrappedTable(t *testing.T) {
	tab := &table{columns: []string{"job", "workers", "ps", "reason"}}
	tab.add("resnet", "8", "", "going from 4 to 8 raised its goodput by 40 %; 16 would raise it by 10 %")
	tab.add("bert", "1", "", "waits")
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
		tab := &table{columns: []string{"a", "b", "c"}}
		var words []string
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			var cells []any
			for range 3 {
				cell := strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-zé–]{1,9}`), 0, 12).Draw(t, "words"), " ")
				words = append(words, strings.Fields(cell)...)
				cells = append(cells, cell)
			}
			tab.add(cells...)
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
	tab := &table{columns: []string{"config", "status", "error"}}
	tab.add("1 worker, allreduce", "ok", "")
	tab.add("2 workers, allreduce", "ok", "")
	tab.add("4 workers, allreduce", "failed", "exit status 3")
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

// What every row says is said once, heads come before the rows they are of,
// people are shown the table for people, and programs every column.
func TestWideTableForPeople(t *testing.T) {
	tab := &table{columns: []string{"workers", "gpu", "batch", "step"}}
	tab.addUnder("allreduce", "1", "a100", "a batch of 32", "17 ms")
	tab.addUnder("allreduce", "2", "a100", "a batch of 64", "19 ms")
	tab.addUnder("ps-sync", "2", "a100", "a batch of 64", "21 ms")
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
	tab.people = &table{columns: []string{"workers"}, rows: [][]any{{3.}}}
	for f, want := range map[format]string{"table": "workers\n3\n", "markdown": "| workers |\n| --- |\n| 3 |\n"} {
		var b strings.Builder
		if err := f.print(&b, nil, tab); err != nil || b.String() != want {
			t.Errorf("%s: got\n%s%v\nwant\n%s", f, b.String(), err, want)
		}
	}
	var b strings.Builder
	if err := format("csv").print(&b, nil, tab); err != nil || !strings.HasPrefix(b.String(), "workers,gpu,batch,step\n") {
		t.Errorf("csv: got\n%s%v\nwant every column", b.String(), err)
	}
}
