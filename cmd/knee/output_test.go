package main

import (
	"strings"
	"testing"

	"knee/data"
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

// The nodes of workers that were measured without them are not known.
func TestUnknownNodesAreAnEmptyCell(t *testing.T) {
	for c, want := range map[*data.Config]any{{Workers: 16}: nil, {Workers: 1}: 1, {Workers: 16, Nodes: 2}: 2, {Workers: 3, Placement: data.Placement{2, 1}}: 2} {
		if got := nodesOf(*c); got != want {
			t.Errorf("%v: %v, want %v", c, got, want)
		}
	}
}
