package interference

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestTable: a share may be given in three ways; errors name the cause; a
// written table reads back.
func TestTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "packed.csv")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []Row{{"x", "y", "t4", 0, .8}, {"y", "x", "t4", 0, .5}}
	for _, text := range []string{
		"application,beside,gpu_type,step_time_s,alone_step_time_s\nx,y,t4,0.25,0.2\ny,x,t4,2,1\n",
		"application,beside,gpu_type,steps_per_s,alone_steps_per_s\nx,y,t4,4,5\ny,x,t4,.5,1\n",
		"application,beside,gpu_type,share\nx,y,t4,.8\ny,x,t4,.5\n",
	} {
		write(text)
		if got, warnings, err := Load(path); err != nil || len(warnings) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, %v, %v of %s", got, warnings, err, text)
		}
	}
	const header = "application,beside,gpu_type,workers,step_time_s,alone_step_time_s,steps_per_s,alone_steps_per_s\n"
	for rows, want := range map[string]string{
		"x,y,t4,1,0,1,,\n":                   ":2:step_time_s",
		"x,y,t4,1,1,1,,\nx,y,t4,1,1,1,,\n":   ":3:beside",
		"x,y,t4,1,,,0,0\n":                   ":2:alone_steps_per_s",
		"x,y,t4,1,,,,\n":                     "share",
		"x,y,t4,0.5,1,1,,\n":                 "workers",
		"x,y,t4,1,,,0,3\nx,y,t4,2,,,0,3,1\n": ":3",
	} {
		write(header + rows)
		if _, _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	rows := []Measured{{Row{"x", "y", "t4", 2, .5}, 2, 1}, {Row{"y", "x", "t4", 2, 0}, 0, 1}}
	var b bytes.Buffer
	if err := Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	write(b.String())
	if got, _, err := Load(path); err != nil || !reflect.DeepEqual(got, []Row{rows[0].Row, rows[1].Row}) {
		t.Errorf("%v, %v of\n%s", got, err, b.String())
	}
}

// A job that is faster beside another than alone is warned of.
func TestExchangedTimes(t *testing.T) {
	const head = "application,beside,gpu_type,step_time_s,alone_step_time_s\n"
	for row, want := range map[string]string{"a,b,v100,.1,.2\n": "f:2: a runs at 2 times its speed alone beside b", "a,b,v100,.2,.1\n": ""} {
		_, warnings, err := Read(strings.NewReader(head+row), "f")
		if got := strings.Join(warnings, "; "); err != nil || (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v; want %q", row, got, err, want)
		}
	}
}
