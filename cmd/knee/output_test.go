package main

import (
	"strings"
	"testing"
)

// People are shown the table for people, and programs every column.
func TestTableForPeople(t *testing.T) {
	tab := &table{columns: []string{"workers", "gpu", "batch", "step"}}
	tab.addUnder("allreduce", "1", "a100", "a batch of 32", "17 ms")
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

func TestNoNegativeZero(t *testing.T) {
	if got := percent(-.001); got != "+0 %" {
		t.Errorf("%q", got)
	}
}
