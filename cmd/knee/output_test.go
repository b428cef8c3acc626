package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestWrappedTable(t *testing.T) {
	tab := &table{columns: []string{"job", "workers", "ps", "reason"}}
	tab.add("resnet", "8", "", "going from 4 to 8 raised its goodput by 40 %; 16 would raise it by 10 %")
	tab.add("bert", "1", "", "waits")
	var b strings.Builder
	if err := tab.wrapped(&b, 40, false); err != nil {
		t.Fatal(err)
	}
	want := `job     workers
resnet  8
    going from 4 to 8 raised its goodput
    by 40 %; 16 would raise it by 10 %
bert    1
    waits
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// Nothing is lost by wrapping, and lines keep to the width where words do.
func TestWrapKeepsEveryWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := &table{columns: []string{"a", "b", "c"}}
		var words []string
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			var cells []string
			for range 3 {
				cell := strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-zé–]{1,9}`), 0, 12).Draw(t, "words"), " ")
				words = append(words, strings.Fields(cell)...)
				cells = append(cells, cell)
			}
			tab.rows = append(tab.rows, cells)
		}
		var b strings.Builder
		if err := tab.wrapped(&b, 60, false); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(b.String()), " ")
		for _, w := range words {
			if !strings.Contains(got, w) {
				t.Fatalf("%q is lost in\n%s", w, b.String())
			}
		}
		for line := range strings.Lines(b.String()) {
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
	var b strings.Builder
	if err := tab.wrapped(&b, 32, false); err != nil {
		t.Fatal(err)
	}
	want := `config                status
1 worker, allreduce   ok
2 workers, allreduce  ok
4 workers, allreduce  failed
    exit status 3
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// What every row says is said once, heads come before the rows they are of,
// people are shown the table for people, and programs every column.
func TestWideTableForPeople(t *testing.T) {
	tab := &table{columns: []string{"workers", "gpu", "batch", "step"}}
	tab.addUnder("allreduce", "1", "a100", "a batch of 32", "17 ms")
	tab.addUnder("allreduce", "2", "a100", "a batch of 64", "19 ms")
	tab.addUnder("ps-sync", "2", "a100", "a batch of 64", "21 ms")
	var b strings.Builder
	if err := tab.wrapped(&b, 30, false); err != nil {
		t.Fatal(err)
	}
	want := `every row: gpu a100
workers  batch          step
allreduce
1        a batch of 32  17 ms
2        a batch of 64  19 ms
ps-sync
2        a batch of 64  21 ms
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	tab.people = &table{columns: []string{"workers"}, rows: [][]string{{"3"}}}
	for f, want := range map[format]string{"table": "workers\n3\n", "markdown": "| workers |\n| --- |\n| 3 |\n"} {
		var b strings.Builder
		if err := f.print(&b, nil, tab); err != nil || b.String() != want {
			t.Errorf("%s: got\n%s%v\nwant\n%s", f, b.String(), err, want)
		}
	}
	b.Reset()
	if err := format("csv").print(&b, nil, tab); err != nil || !strings.HasPrefix(b.String(), "workers,gpu,batch,step\n") {
		t.Errorf("csv: got\n%s%v\nwant every column", b.String(), err)
	}
}
