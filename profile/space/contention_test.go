package space_test

import (
	"os"
	"path/filepath"
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

func TestUntold(t *testing.T) {
	script := filepath.Join(t.TempDir(), "train.py")
	if err := os.WriteFile(script, []byte("os.environ['KNEE_X_LR']"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ command, space, want string }{
		{"[sh, train.sh]", "workers: [1, 2], local_batch: [8, 16], x_lr: [1, 2], one: [1]", "the command is the same for all values of KNEE_LOCAL_BATCH, KNEE_X_LR: "},
		{"[sh, '{{.LocalBatch}}', '{{.X.lr}}']", "local_batch: [8, 16], lr: [a, b]", ""},
		{"[sh, '{{.GlobalBatch}}']", "local_batch: [8, 16], accum_steps: [0, 1]", ""},
		{"[sh, '{{.LocalBatch}}']", "global_batch: [16, 32], tp: [1, 2]", "the command is the same for all values of KNEE_TP: "},
		{"[sh, '{{.LocalBatch}}']", "local_batch: [8, 16], global_batch: [64]", ""},
		{"[sh, " + script + "]", "lr: [1, 2]", ""},
		{"[sh, -c, 'train $KNEE_SHARDING']", "sharding: [none, zero1]", ""},
		{"[knee, train]", "local_batch: [8, 16]", ""},
	} {
		s, err := data.ReadStudy(strings.NewReader("job: a\ncommand: "+tc.command+"\nspace: {"+tc.space+"}\n"), "s.yaml")
		if err != nil {
			t.Fatal(err)
		}
		all, err := space.Candidates(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := space.Untold(s, all); (tc.want == "") != (got == "") || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s over %s: %q, want %q…", tc.command, tc.space, got, tc.want)
		}
	}
}
