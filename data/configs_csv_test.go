package data

import (
	"strings"
	"testing"
)

func TestReadConfigs(t *testing.T) {
	rows, warnings, err := ReadConfigs(strings.NewReader("workers,ps,mode,local_batch,step_time_s,x_depth,colour,seq_len\n2,1,ps-sync,16,0.5,3,red,512\n4,2,ps-async,32,,,,\n"), "c.csv")
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || rows[0].Workers != 2 || rows[0].PS != 1 || rows[0].Extra["depth"] != "3" || rows[0].SeqLen != 512 || rows[1].Mode != PSAsync || rows[1].Source.Line != 3 {
		t.Errorf("rows = %+v", rows)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "colour") {
		t.Errorf("warnings = %q, want one that names the unknown column", warnings)
	}
	for text, want := range map[string]string{
		"ps\n1\n":             "workers or placement",
		"workers\n0\n":        "c.csv:2:workers",
		"workers,mode\n2,x\n": "c.csv:2:mode",
		"workers\n2\nmany\n":  `c.csv:3:workers: found "many"`,
	} {
		if _, _, err := ReadConfigs(strings.NewReader(text), "c.csv"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: err = %v, want …%s…", text, err, want)
		}
	}
}

func FuzzReadConfigs(f *testing.F) {
	f.Add("workers,ps,mode\n2,1,ps-sync\n")
	f.Add("placement\n4-4\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, _, err := ReadConfigs(strings.NewReader(text), "fuzz.csv")
		for _, r := range rows {
			if err == nil && r.Workers < 1 {
				t.Errorf("%q gave %d workers", text, r.Workers)
			}
		}
	})
}
