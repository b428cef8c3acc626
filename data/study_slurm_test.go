package data_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/data"
)

func TestReadStudySlurm(t *testing.T) {
	const text = `job: a
command: [x]
space: {workers: [1]}
launcher:
  slurm: {partition: gpu, account: me, time: 30m, gres: gpu, gpu_types: {a100: nvidia_a100_80gb, t4: ""}, srun: true,
    per_node: true, directives: [--constraint=ib, "--cpus-per-task 4"], waiting: 2, poll: 2s, max_wait: 1h}
`
	got, err := data.ReadStudy(strings.NewReader(text), "s")
	if err != nil {
		t.Fatal(err)
	}
	want := data.LauncherSpec{Slurm: &data.SlurmSpec{Partition: "gpu", Account: "me", Time: 30 * time.Minute, GRES: "gpu",
		GPUTypes: map[string]string{"a100": "nvidia_a100_80gb", "t4": ""}, Srun: true, PerNode: true,
		Directives: []string{"--constraint=ib", "--cpus-per-task 4"}, Waiting: 2, Poll: 2 * time.Second, MaxWait: time.Hour}}
	if diff := cmp.Diff(want, got.Launcher); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	got, err = data.ReadStudy(strings.NewReader("job: a\ncommand: [x]\nspace: {workers: [1]}\nlauncher: {slurm: {}}\n"), "s")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(data.LauncherSpec{Slurm: &data.SlurmSpec{}}, got.Launcher); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadStudySlurmRefuses(t *testing.T) {
	slurm := func(s string) string {
		return "job: a\ncommand: [x]\nspace: {workers: [1]}\nlauncher: {slurm: {" + s + "}}\n"
	}
	const word = "a name of letters, digits and _ . , : + @ / = -"
	checkFailures(t, []failure{
		{"key", slurm("partitions: x"), `f:4:launcher.slurm.partitions: found an unknown key (did you mean "partition"?), want one of partition, account, time, gres, gpu_types, srun, per_node, directives, waiting, poll, max_wait`},
		{"two words", slurm("partition: a b"), `f:4:launcher.slurm.partition: found "a b", want ` + word},
		{"an option", slurm("account: --wrap=x"), `f:4:launcher.slurm.account: found "--wrap=x", want ` + word},
		{"typed gres", slurm(`gres: "gpu:a100:4"`), `f:4:launcher.slurm.gres: found "gpu:a100:4", want the name of a resource such as gpu, or none; type and count come from the configuration`},
		{"short", slurm("time: 5s"), "f:4:launcher.slurm.time: found 5s, want at least 1m, Slurm's unit of limits"},
		{"per node", slurm("per_node: true"), "f:4:launcher.slurm.per_node: found it without srun, want srun: true too, which starts the tasks"},
		{"type", slurm(`gpu_types: {a100: "a b"}`), `f:4:launcher.slurm.gpu_types: found "a100: a b", want ` + word},
		{"no option", slurm("directives: [exclusive]"), `f:4:launcher.slurm.directives: found "exclusive", want an option such as --constraint=ib`},
		{"two lines", slurm(`directives: ["--x\n#SBATCH --y"]`), `f:4:launcher.slurm.directives: found "--x\n#SBATCH --y", want an option such as --constraint=ib`},
		{"ours", slurm("directives: [--output=x]"), `f:4:launcher.slurm.directives: found "--output=x", want an option other than --output, which the launcher itself decides`},
		{"said elsewhere", slurm("directives: [-N 4]"), `f:4:launcher.slurm.directives: found "-N 4", want the study's placement or nodes in its place`},
		{"waiting", slurm("waiting: 0"), `f:4:launcher.slurm.waiting: found "0", want a whole number from 1 to 1000000000`},
	}, errorOf(data.ReadStudy))
}

// A100 and a100 are one type; Slurm gets the study's spelling.
func TestStudyFoldsGPUTypes(t *testing.T) {
	const text = "job: a\ncommand: [x]\nspace: {gpu_type: [A100, t4, V100]}\nprice_per_hour: {A100: 3}\nlauncher: {slurm: {gpu_types: {V100: tesla_v100}}}\n"
	s, err := data.ReadStudy(strings.NewReader(text), "s")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a100", "t4", "v100"}, s.Space[0].Values); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"a100": "A100", "v100": "tesla_v100"}, s.Launcher.Slurm.GPUTypes); diff != "" || s.PricePerHour["a100"] != 3 {
		t.Errorf("prices %v, names (-want +got):\n%s", s.PricePerHour, diff)
	}
	_, err = data.ReadStudy(strings.NewReader("job: a\ncommand: [x]\nspace: {gpu_type: [A100, a100]}\n"), "s")
	if err == nil || !strings.Contains(err.Error(), `s:3:space.gpu_type: found "a100" twice`) {
		t.Errorf("one type twice: %v", err)
	}
}
