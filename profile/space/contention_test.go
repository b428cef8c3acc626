package space_test

import (
	"strings"
	"testing"

	"knee/data"
	"knee/profile/space"
)

func TestContention(t *testing.T) {
	local := data.LauncherSpec{Local: &data.LocalSpec{Ranks: true}}
	for _, tc := range []struct {
		name   string
		study  data.Study
		config data.Config
		want   string
	}{
		{"as many as cores", data.Study{Launcher: local}, data.Config{GPUType: "cpu", Workers: 4}, ""},
		{"one more", data.Study{Launcher: local}, data.Config{GPUType: "cpu", Workers: 4, PS: 1}, "has 4 cores, and 1 of 1 configurations run more workers and servers at once, up to 5:"},
		{"no launcher is local", data.Study{}, data.Config{Workers: 8}, "up to 8:"},
		{"two at once", data.Study{Launcher: local, Parallel: 2}, data.Config{GPUType: "cpu", Workers: 3}, "up to 6:"},
		{"on GPUs", data.Study{Launcher: local}, data.Config{GPUType: "a100", Workers: 8}, ""},
		{"elsewhere", data.Study{Launcher: data.LauncherSpec{Slurm: &data.SlurmSpec{}}}, data.Config{GPUType: "cpu", Workers: 8}, ""},
		{"nowhere", data.Study{Launcher: data.LauncherSpec{Replay: &data.ReplaySpec{}}}, data.Config{GPUType: "cpu", Workers: 8}, ""},
	} {
		got := space.Contention(&tc.study, []data.Config{tc.config}, 4)
		if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want …%s…", tc.name, got, tc.want)
		}
	}
}
