package export

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"knee/data"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// samplePlan has one job of every kind a target must cope with: names,
// values and commands full of characters that shells and YAML care about.
func samplePlan() data.Plan {
	return data.Plan{
		Version: data.PlanVersion, Objective: "jct", Policy: "marginal-gain", Value: 3, Bound: 3.1, Gap: 0.03,
		Inputs: []data.Input{}, Warnings: []string{},
		Jobs: []data.PlannedJob{
			{
				Name: "ResNet50 / ImageNet", Action: data.Grow, GPUType: "a100", Mode: data.AllReduce, Workers: 8,
				Placement:  []data.NodeShare{{Node: "a01", Workers: 4}, {Node: "a02", Workers: 4}},
				Range:      data.IntRange{Min: 4, Max: 16},
				LocalBatch: 128, Throughput: data.Estimate{Mean: 2000, Lo: 1900, Hi: 2100}, Reason: "grows",
				Resources: data.PlanNeeds{WorkerCPUs: 7.5, WorkerMemory: 24 << 30},
				Template: data.Template{Image: "registry.example/train:1", Command: []string{"python", "train.py", "--note=it's $HOME; `x` $(y)", "--data", "/mnt/my data"},
					Env: map[string]string{"NOTE": "a'b\"c $(HOME)\nnext", "A": "1"}, Namespace: "ml", Partition: "gpu", Account: "team", TimeLimit: "12:00:00"},
			},
			{
				Name: "bert", Action: data.Start, GPUType: "t4", Mode: data.AllReduce, Workers: 5, AccumSteps: 1, LocalBatch: 12,
				Placement: []data.NodeShare{{Node: "t01", Workers: 2}, {Node: "t02", Workers: 2}, {Node: "t03", Workers: 1}},
				Template:  data.Template{Command: []string{"torch-wrapper", "run"}, Pod: bertPod()},
			},
			{
				Name: "single", Action: data.Keep, GPUType: "cpu", Workers: 1, LocalBatch: 85,
				Placement: []data.NodeShare{{Node: "t03", Workers: 1}},
				Template:  data.Template{Image: "small", Command: []string{"python3", "-m", "train"}},
			},
			{Name: "paused\nname", Action: data.Pause, Reason: "waits\nfor room", Placement: []data.NodeShare{}, Template: data.Template{}},
		},
	}
}

// bertPod is a pod template of the user's.
func bertPod() map[string]any {
	type m = map[string]any
	return m{"metadata": m{"labels": m{"team": "nlp"}}, "spec": m{
		"serviceAccountName": "trainer", "imagePullSecrets": []any{m{"name": "registry"}}, "nodeSelector": m{"pool": "gpu"},
		"tolerations": []any{m{"key": "reserved", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(1000000)}},
		"volumes":     []any{m{"name": "data", "persistentVolumeClaim": m{"claimName": "corpus"}}},
		"containers": []any{
			m{"name": "any", "image": "bert:2", "command": []any{"not", "this"}, "volumeMounts": []any{m{"name": "data", "mountPath": "/data"}},
				"env": []any{m{"name": "TOKEN", "valueFrom": m{"secretKeyRef": m{"name": "hub", "key": "token"}}}}},
			m{"name": "sidecar", "image": "logs:1"}},
	}}
}

// psJob has its servers beside its workers and on a node of their own.
func psJob() data.PlannedJob {
	return data.PlannedJob{
		Name: "word2vec", Action: data.Move, GPUType: "t4", Mode: data.PSAsync, Workers: 3, PS: 2, LocalBatch: 64,
		Placement: []data.NodeShare{{Node: "t01", Workers: 2, PS: 1}, {Node: "t02", Workers: 1}, {Node: "c01", PS: 1}},
		Resources: data.PlanNeeds{WorkerCPUs: 2, WorkerMemory: 4 << 30, PSCPUs: 4, PSMemory: 16<<30 + 1},
		Template:  data.Template{Image: "w2v", Command: []string{"python", "train.py"}},
	}
}

// elasticJob may have from two to eight workers, and can bear it.
func elasticJob() data.PlannedJob {
	return data.PlannedJob{
		Name: "elastic", Action: data.Start, GPUType: "t4", Mode: data.AllReduce, Workers: 4, LocalBatch: 32,
		Range:     data.IntRange{Min: 2, Max: 8},
		Placement: []data.NodeShare{{Node: "t01", Workers: 2}, {Node: "t02", Workers: 2}},
		Template:  data.Template{Image: "bert:2", Command: []string{"torchrun", "train.py"}},
	}
}

func withPS() data.Plan {
	p := samplePlan()
	p.Jobs = append(p.Jobs, psJob())
	return p
}

// planFor is the sample plan as far as a target can express it.
func planFor(target string) data.Plan {
	switch target {
	case "pytorchjob":
		p := samplePlan()
		p.Jobs = append(p.Jobs, elasticJob())
		return p
	case "slurm":
		p := withPS()
		shrinks := elasticJob()
		shrinks.Name, shrinks.Action = "shrinks", data.Shrink
		shrinks.Template.Command = []string{"python", "train.py"}
		p.Jobs = append(p.Jobs, shrinks)
		return p
	case "torchrun", "rayjob":
		return samplePlan()
	case "volcano":
		p := withPS()
		p.Jobs[0].Template.TimeLimit = "" // which a Volcano job has not
		return p
	case "mpijob", "trainjob":
		p := samplePlan()
		p.Jobs[1].Placement = p.Jobs[1].Placement[:2]
		p.Jobs[1].Workers = 4
		return p
	}
	return withPS()
}

func TestGolden(t *testing.T) {
	for _, target := range Names() {
		e, err := New(target)
		if err != nil {
			t.Fatal(err)
		}
		files, err := e(planFor(target))
		if err != nil {
			t.Fatalf("%s: %v", target, err)
		}
		dir := filepath.Join("testdata", target)
		if *update {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range files {
			path := filepath.Join(dir, f.Name)
			if *update {
				if err := os.WriteFile(path, f.Data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(want) != string(f.Data) {
				t.Errorf("%s differs; run with -update and read the change:\n%s", path, f.Data)
			}
			if strings.ContainsAny(f.Name, "/\\") {
				t.Errorf("%s: file name %q has a separator", target, f.Name)
			}
		}
		have, err := os.ReadDir(dir)
		if err != nil || len(have) != len(files) {
			t.Errorf("%s: %d golden files, %d written (%v)", target, len(have), len(files), err)
		}
	}
}

// TestScriptsParse lets the shell itself judge every script.
// A pod template of the user's is in every pod of the job, under what the
// plan decides.
func TestPodTemplate(t *testing.T) {
	for _, target := range []string{"pytorchjob", "jobset", "kueue", "volcano", "rayjob", "tfjob"} {
		files, err := exporters()[target](planFor(target))
		if err != nil {
			t.Fatal(err)
		}
		pods := 0
		for _, f := range files {
			if f.Name != "bert.yaml" {
				continue
			}
			for _, want := range []string{"serviceAccountName: trainer", "claimName: corpus", "tolerationSeconds: 1000000", "secretKeyRef:", "image: logs:1", "team: nlp", "- name: registry"} {
				n := strings.Count(string(f.Data), want)
				if pods = max(pods, n); n == 0 || n != pods {
					t.Errorf("%s: %q %d times, want it in each of %d pods:\n%s", target, want, n, pods, f.Data)
				}
			}
			if strings.Contains(string(f.Data), "not") && strings.Contains(string(f.Data), "- this") || !strings.Contains(string(f.Data), "image: bert:2") {
				t.Errorf("%s: the container that trains:\n%s", target, f.Data)
			}
		}
		if pods == 0 {
			t.Errorf("%s: no bert.yaml", target)
		}
	}
}

// TestContract: an exported job is told what a trial is told, its command is
// rendered, and a batch that no training can hold is refused.
func TestContract(t *testing.T) {
	j := psJob()
	j.InitialBatch, j.Extra = 128, map[string]string{"fusion_mb": "64"}
	j.Template = data.Template{Image: "w2v", Command: []string{"train", "--batch={{.LocalBatch}}", "--fusion={{.X.fusion_mb}}"}}
	p := data.Plan{Version: data.PlanVersion, Jobs: []data.PlannedJob{j}}
	files, err := exporters()["jobset"](p)
	if err != nil {
		t.Fatal(err)
	}
	text := string(files[0].Data)
	for _, want := range []string{"--batch=64", "--fusion=64", "KNEE_X_FUSION_MB", "KNEE_INITIAL_BATCH", "KNEE_NODES", "KNEE_GPU_TYPE"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	p.Jobs[0].Template.Command = []string{"train", "{{.Batch}}"}
	if _, err := exporters()["jobset"](p); err == nil || !strings.Contains(err.Error(), "fields such as .Workers") {
		t.Errorf("a field that does not exist: %v", err)
	}
	p.Jobs[0].LocalBatch = 85.5
	if _, err := exporters()["jobset"](p); err == nil || !strings.Contains(err.Error(), "85.5 samples per worker") {
		t.Errorf("a batch that is not whole: %v", err)
	}
}

// TestNodeOfAReservedWord: a node may be called what a shell reserves.
func TestNodeOfAReservedWord(t *testing.T) {
	p := data.Plan{Version: data.PlanVersion, Jobs: []data.PlannedJob{{Name: "a", Action: data.Start, GPUType: "t4", Workers: 1,
		Placement: []data.NodeShare{{Node: "esac", Workers: 1}}, Template: data.Template{Command: []string{"python", "train.py"}}}}}
	files, err := exporters()["torchrun"](p)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-n", "-c", string(files[0].Data)).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestScriptsParse(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed, so the scripts are not checked")
	}
	for _, target := range Names() {
		files, err := exporters()[target](planFor(target))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !strings.HasPrefix(string(f.Data), "#!") {
				continue
			}
			cmd := exec.Command(bash, "-n")
			cmd.Stdin = strings.NewReader(string(f.Data))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s/%s: %v\n%s", target, f.Name, err, out)
			}
		}
	}
}

// TestSlurmScriptRuns runs scripts with a srun that plays the tasks, and
// looks at what the training program would really receive: its arguments and
// environment untouched, and the ranks that the local launcher gives too.
func TestSlurmScriptRuns(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed, so the script is not run")
	}
	dir := t.TempDir()
	fake := "#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\n" +
		"for i in $TASKS; do args=(); for a in \"$@\"; do [ \"$a\" = : ] && break; args+=(\"$a\"); done; SLURM_PROCID=$i SLURM_LOCALID=0 \"${args[@]}\"; done\n"
	for name, text := range map[string]string{"srun": fake, "scontrol": "#!/bin/sh\necho \"$3\" | tr , '\\n'\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run := func(p data.Plan, tasks string, command ...string) string {
		t.Helper()
		p.Jobs = p.Jobs[:1]
		p.Jobs[0].Template.Command = command
		files, err := exporters()["slurm"](p)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(bash)
		cmd.Stdin = strings.NewReader(string(files[0].Data))
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SLURM_JOB_ID=7", "CUDA_VISIBLE_DEVICES=0,1", "TASKS="+tasks,
			"SLURMD_NODENAME=t01", "SLURM_JOB_NODELIST_HET_GROUP_0=t01", "SLURM_JOB_NODELIST_HET_GROUP_2=c01")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	got := run(samplePlan(), "3", "sh", "-c", `printf '%s|' "$@"; echo "$NOTE"`, "sh", "it's $HOME; `x` $(y)", "two words")
	if want := "it's $HOME; `x` $(y)|two words|a'b\"c $(HOME)\nnext\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	servers := withPS()
	servers.Jobs = servers.Jobs[len(servers.Jobs)-1:]
	got = run(servers, "0 2 3 4", "sh", "-c", `echo $KNEE_ROLE $RANK of $WORLD_SIZE ps=$KNEE_PS_RANK $MASTER_ADDR:$MASTER_PORT $KNEE_PS_HOSTS gpus=$CUDA_VISIBLE_DEVICES`)
	want := `worker 0 of 5 ps= t01:20007 t01:20008,c01:20009 gpus=0,1
ps 3 of 5 ps=0 t01:20007 t01:20008,c01:20009 gpus=
worker 2 of 5 ps= t01:20007 t01:20008,c01:20009 gpus=0,1
ps 4 of 5 ps=1 t01:20007 t01:20008,c01:20009 gpus=
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Tasks of a node that need different cores ask for no more than their sum.
func TestSlurmCores(t *testing.T) {
	for _, c := range []struct {
		worker, ps       float64
		workers, servers int
		tasks, cores     int // asked for on a node
	}{
		{2, 4, 2, 1, 8, 1},
		{1.5, 0.2, 2, 1, 4, 1},
		{0.1, 0.2, 2, 1, 3, 1},
		{2.5, 4, 2, 0, 2, 3},
	} {
		j := psJob()
		j.Resources.WorkerCPUs, j.Resources.PSCPUs = c.worker, c.ps
		j.Workers, j.PS = 2*c.workers, 2*c.servers
		j.Placement = []data.NodeShare{{Node: "t01", Workers: c.workers, PS: c.servers}, {Node: "t02", Workers: c.workers, PS: c.servers}}
		j.Mode = ""
		files, err := exporters()["slurm"](data.Plan{Version: data.PlanVersion, Jobs: []data.PlannedJob{j}})
		if err != nil {
			t.Fatal(err)
		}
		text, asked := string(files[0].Data), fmt.Sprintf("--ntasks=%d\n#SBATCH --ntasks-per-node=%d\n#SBATCH --nodelist=t01,t02\n#SBATCH --gres=gpu:t4:2\n#SBATCH --cpus-per-task=%d\n", 2*c.tasks, c.tasks, c.cores)
		if !strings.Contains(text, asked) || c.servers > 0 && !strings.Contains(text, " --ntasks=6 --ntasks-per-node=3 --cpu-bind=none ") {
			t.Errorf("%+v: no %s in\n%s", c, asked, text)
		}
	}
}

// The script that carries out a plan may run twice: what is in the queue is not submitted again,
// and it fails, after the rest, if that is of another plan.
func TestSubmitTwice(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed, so the script is not run")
	}
	dir := t.TempDir()
	p := samplePlan()
	p.Jobs = append(p.Jobs[1:2], elasticJob())
	p.Jobs[1].Template.Command = []string{"train"}
	write := func(files ...File) {
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, f.Mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Jobs are files named after them with their comments.
	write(File{"squeue", 0o755, []byte(`#!/bin/bash
for a in "$@"; do case $a in --name=*) job=${a#*=} ;; esac; done
[ ! -e "$job.job" ] || if [[ $* == *%k* ]]; then cat "$job.job"; else echo 7; fi
`)}, File{"sbatch", 0o755, []byte("#!/bin/sh\necho \"${2#*=}\" >\"${3%.sbatch}.job\"; echo 7\n")})
	const there, other = "job %s is in the queue and is not submitted again\n", "job %s in the queue is of another plan: cancel it, or wait until it ends, and run this again\n"
	for i, c := range []struct {
		node string
		want string
		rc   int
	}{
		{"t01", "7\n7\n", 0},
		{"t01", fmt.Sprintf(there+there, "bert", "elastic"), 0},
		{"t04", fmt.Sprintf(other+there, "bert", "elastic"), 1},
	} {
		p.Jobs[0].Placement[0].Node = c.node
		files, err := exporters()["slurm"](p)
		if err != nil {
			t.Fatal(err)
		}
		write(files...)
		cmd := exec.Command(bash, filepath.Join(dir, "submit.sh"))
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		if out, _ := cmd.CombinedOutput(); string(out) != c.want || cmd.ProcessState.ExitCode() != c.rc {
			t.Errorf("run %d: %q, %v; want %q", i, out, cmd.ProcessState, c.want)
		}
	}
}

// What a scheduler calls a GPU: Slurm may name no type, and other vendors and slices have
// resources of their own.
func TestNamesOfGPUs(t *testing.T) {
	p := samplePlan()
	p.Jobs = p.Jobs[1:2]
	p.Jobs[0].GPUType = "gpu"
	files, err := exporters()["slurm"](p)
	if err != nil || !strings.Contains(string(files[0].Data), "#SBATCH --gres=gpu:2\n") {
		t.Errorf("%v: %s", err, files)
	}
	for _, name := range []string{"amd.com/gpu", "nvidia.com/mig-1g.5gb", "gpu.intel.com/i915"} {
		p.Jobs[0].Template.Pod = map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"image": "bert:2",
			"resources": map[string]any{"limits": map[string]any{"cpu": 4, name: 9}}}}}}
		for target, each := range map[string]string{"rayjob": `"2"`, "pytorchjob": `"1"`, "kueue": `"1"`} {
			files, err := exporters()[target](p)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				text := string(f.Data)
				if strings.Contains(text, "nvidia.com/gpu") || f.Name == "bert.yaml" && !strings.Contains(text, name+": "+each) || f.Name == "knee.queues.yaml" && !strings.Contains(text, "name: "+name+"\n") {
					t.Errorf("%s, %s:\n%s", target, name, text)
				}
			}
		}
		// Heads and parameter servers have none.
		servers := data.Plan{Version: data.PlanVersion, Jobs: []data.PlannedJob{psJob()}}
		servers.Jobs[0].Template.Pod = map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"resources": map[string]any{
			"limits": map[string]any{name: 1}, "requests": map[string]any{name: 1}}}}}}
		for _, c := range []struct {
			target string
			plan   data.Plan
			want   int
		}{{"rayjob", p, 3}, {"jobset", servers, 2 * 2}, {"tfjob", servers, 2}} {
			files, err := exporters()[c.target](c.plan)
			if err != nil {
				t.Fatal(err)
			}
			text := string(files[0].Data)
			if n := strings.Count(text, name+": "); n != c.want || strings.Contains(text, "null") {
				t.Errorf("%s: %s %d times, want %d:\n%s", c.target, name, n, c.want, text)
			}
		}
	}
}

// The quota of a queue covers what the pod template requests beside the plan, or no job is admitted.
func TestQuotaOfAQueue(t *testing.T) {
	p := samplePlan()
	p.Jobs = p.Jobs[1:2]
	p.Jobs[0].Resources = data.PlanNeeds{WorkerCPUs: 2}
	limits := func(cpu, memory any) map[string]any {
		return map[string]any{"resources": map[string]any{"limits": map[string]any{"cpu": cpu, "memory": memory}}}
	}
	p.Jobs[0].Template.Pod = map[string]any{"spec": map[string]any{"containers": []any{limits(8, "1Gi"), limits("500m", "24Mi")}}}
	p.Jobs[0].Template.Image = "bert:2"
	files, err := exporters()["kueue"](p)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"nominalQuota: 12500m", fmt.Sprintf("nominalQuota: %q", fmt.Sprint(5*(1<<30+24<<20)))} {
		if !strings.Contains(string(files[0].Data), want) {
			t.Errorf("no %s in\n%s", want, files[0].Data)
		}
	}
}

// A queue has a quota of every resource that its jobs request as a GPU.
func TestQuotasOfGPUs(t *testing.T) {
	p := data.Plan{Version: data.PlanVersion, Jobs: []data.PlannedJob{psJob(), elasticJob(), elasticJob()}}
	p.Jobs[1].Name, p.Jobs[1].Template.Command, p.Jobs[2].Template.Command = "slices", []string{"train"}, []string{"train"}
	p.Jobs[1].Template.Pod = map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
		"resources": map[string]any{"limits": map[string]any{"nvidia.com/mig-1g.5gb": 1}}}}}}
	files, err := exporters()["kueue"](p)
	if err != nil {
		t.Fatal(err)
	}
	text := string(files[0].Data)
	for _, want := range []string{"- nvidia.com/gpu\n        - nvidia.com/mig-1g.5gb\n        - cpu\n",
		"- name: nvidia.com/gpu\n              nominalQuota: \"7\"\n            - name: nvidia.com/mig-1g.5gb\n              nominalQuota: \"4\"\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestRefusals(t *testing.T) {
	edit := func(f func(*data.PlannedJob)) data.Plan {
		p := samplePlan()
		f(&p.Jobs[0])
		return p
	}
	for _, tt := range []struct {
		target string
		plan   data.Plan
		want   string
	}{
		{"pytorchjob", withPS(), `job "word2vec": it uses parameter servers`},
		{"torchrun", withPS(), `job "word2vec": it uses parameter servers`},
		{"slurm", edit(func(j *data.PlannedJob) { j.Template.Command = nil }), "template.command is empty"},
		{"slurm", edit(func(j *data.PlannedJob) { j.Template.Partition = "gpu\n#SBATCH --uid=0" }), "partition"},
		{"slurm", edit(func(j *data.PlannedJob) { j.Placement[0].Node = "a01;rm" }), `node name "a01;rm"`},
		{"slurm", edit(func(j *data.PlannedJob) { j.Template.Env = map[string]string{"A B": "1"} }), `environment variable "A B"`},
		{"slurm", edit(func(j *data.PlannedJob) { j.Workers = 9 }), "its placement holds 8 workers and 0 ps, want 9 and 0"},
		{"slurm", edit(func(j *data.PlannedJob) { j.Placement = nil }), "does not say on which nodes"},
		{"slurm", edit(func(j *data.PlannedJob) { j.Template.Command = []string{"a\x93"} }), "no UTF-8"},
		{"slurm", edit(func(j *data.PlannedJob) { j.Name = "BERT" }), "rename one"},
		{"pytorchjob", edit(func(j *data.PlannedJob) { j.Template.Image = "" }), "template.image is empty"},
		{"tfjob", edit(func(j *data.PlannedJob) { j.Template.Namespace = "My NS" }), "DNS-1123"},
		{"tfjob", edit(func(j *data.PlannedJob) { j.Mode = data.PSSync }), "no parameter server"},
		{"mpijob", samplePlan(), `job "bert": its nodes hold 2-2-1 workers, and MPIJob has the same number on every node`},
		{"trainjob", samplePlan(), `job "bert": its nodes hold 2-2-1 workers`},
		{"mpijob", withPS(), "its nodes hold 2-2-1 workers"},
		{"rayjob", withPS(), `job "word2vec": it uses parameter servers`},
		{"jobset", edit(func(j *data.PlannedJob) { j.Template.Command = nil }), "template.command is empty"},
		{"volcano", samplePlan(), "template.time_limit is 12:00:00"},
		{"slurm", edit(func(j *data.PlannedJob) { j.Template.TimeLimit = "soon" }), `template.time_limit "soon": want a time such as 36h`},
		{"jobset", edit(func(j *data.PlannedJob) { j.Template.TimeLimit = "0" }), `template.time_limit "0"`},
		{"volcano", edit(func(j *data.PlannedJob) { j.Template.Image = "" }), "template.image is empty"},
		{"slurm", data.Plan{Version: 9}, "version 9, want 1"},
	} {
		_, err := exporters()[tt.target](tt.plan)
		var r *Refusal
		if !errors.As(err, &r) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want a refusal with %q", tt.target, err, tt.want)
		}
	}
	if _, err := New("pbs"); err == nil || !strings.Contains(err.Error(), "csv, jobset, json, kueue") {
		t.Errorf("unknown target: %v", err)
	}
}

// TestNamespaces: every namespace that Kubernetes takes is taken.
func TestNamespaces(t *testing.T) {
	p := samplePlan()
	for _, name := range []string{"7b", "a--b", strings.Repeat("n", 63)} {
		for i := range p.Jobs {
			p.Jobs[i].Template.Namespace = name
		}
		files, err := exporters()["pytorchjob"](p)
		if err != nil || !strings.Contains(string(files[0].Data), "namespace: "+name) {
			t.Errorf("namespace %s: %v", name, err)
		}
	}
}

// TestLabel: whatever a job is called, its label is valid, and different
// labels come from cutting only with a checksum.
func TestLabel(t *testing.T) {
	for in, want := range map[string]string{"bert": "bert", "ResNet50 / ImageNet": "resnet50-imagenet", "7b": "job-7b", "--x--": "x"} {
		if got := label(in); got != want {
			t.Errorf("label(%q) = %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "name")
		l := label(s)
		if len(l) == 0 || len(l) > 47 || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || l[0] < 'a' || l[len(l)-1] == '-' {
			t.Fatalf("label(%q) = %q is not a DNS-1123 label of at most 47 characters", s, l)
		}
		long := strings.Repeat("x", 60)
		if label(long+s+"a") == label(long+s+"b") {
			t.Fatalf("cut names collide")
		}
	})
}

// TestYAMLReadsBack: what a parser makes of a manifest is what was meant.
func TestYAMLReadsBack(t *testing.T) {
	files, err := exporters()["pytorchjob"](samplePlan())
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Metadata struct{ Annotations map[string]string }
		Spec     struct {
			PytorchReplicaSpecs map[string]struct {
				Replicas int
				Template struct {
					Spec struct {
						Containers []struct {
							Name    string
							Command []string
							Env     []struct{ Name, Value string }
						}
					}
				}
			} `yaml:"pytorchReplicaSpecs"`
		}
	}
	if err := yaml.Unmarshal(files[0].Data, &m); err != nil {
		t.Fatal(err)
	}
	w := m.Spec.PytorchReplicaSpecs["Worker"]
	c := w.Template.Spec.Containers[0]
	if m.Spec.PytorchReplicaSpecs["Master"].Replicas != 1 || w.Replicas != 7 || c.Name != "pytorch" {
		t.Errorf("replicas %d + %d, container %q", m.Spec.PytorchReplicaSpecs["Master"].Replicas, w.Replicas, c.Name)
	}
	if c.Command[2] != "--note=it's $HOME; `x` $$(y)" || c.Env[1].Value != "a'b\"c $$(HOME)\nnext" {
		t.Errorf("command %q, env %q", c.Command[2], c.Env[1].Value)
	}
	if m.Metadata.Annotations["knee/job"] != "ResNet50 / ImageNet" {
		t.Errorf("annotations %v", m.Metadata.Annotations)
	}
}

// Jobs that share a node start on GPUs of their own, and all at ports of their own; a
// job alone on its node may take all of its GPUs. Beside a job that keeps running, whose
// GPUs are not known, its owner must say which ones are free.
func TestTorchrunSharesNodes(t *testing.T) {
	p := data.Plan{Version: data.PlanVersion}
	for name, nodes := range map[string][]data.NodeShare{"a": {{Node: "n1", Workers: 2}}, "b": {{Node: "n1", Workers: 1}, {Node: "n2", Workers: 1}}, "c": {{Node: "n3", Workers: 2}}} {
		j := data.PlannedJob{Name: name, Action: data.Start, GPUType: "t4", Mode: data.AllReduce, Placement: nodes, Template: data.Template{Command: []string{"train"}}}
		for _, n := range nodes {
			j.Workers += n.Workers
		}
		p.Jobs = append(p.Jobs, j)
	}
	slices.SortFunc(p.Jobs, func(a, b data.PlannedJob) int { return strings.Compare(a.Name, b.Name) })
	files, err := exporters()["torchrun"](p)
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %d files", err, len(files))
	}
	ports := map[string]int{}
	for i, want := range [][]string{{":-0,1}"}, {":-2}"}, {}} {
		text := string(files[i].Data)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s lacks %q:\n%s", files[i].Name, w, text)
			}
		}
		if n := strings.Count(text, "export CUDA_VISIBLE_DEVICES"); n != len(want) {
			t.Errorf("%s sets GPUs %d times", files[i].Name, n)
		}
		_, port, _ := strings.Cut(text, "MASTER_PORT:-")
		port, _, _ = strings.Cut(port, "}")
		if ports[port]++; ports[port] > 1 {
			t.Errorf("two jobs have port %s", port)
		}
	}

	p.Jobs[0].Action = data.Keep
	if files, err = exporters()["torchrun"](p); err != nil {
		t.Fatal(err)
	}
	script := exec.Command("sh", "-c", string(files[1].Data), "b", "n1")
	script.Env = []string{"PATH=/usr/bin:/bin"}
	if out, err := script.CombinedOutput(); err == nil || !strings.Contains(string(out), "CUDA_VISIBLE_DEVICES: set it to 1 GPU that no other job uses") {
		t.Errorf("beside a job that keeps running: %v: %s", err, out)
	}
}

// torchrun starts the workers of a node itself, which only a PyTorchJob leaves to it.
func TestCommandsOfTorchrun(t *testing.T) {
	for _, target := range Names() {
		for _, command := range [][]string{{"/usr/bin/torchrun", "train.py"}, {"python3", "-m", "torch.distributed.run", "train.py"}} {
			p := samplePlan()
			p.Jobs = p.Jobs[1:2]
			p.Jobs[0].Placement, p.Jobs[0].Workers = []data.NodeShare{{Node: "t01", Workers: 2}}, 2
			p.Jobs[0].Template = data.Template{Image: "x", Command: command}
			_, err := exporters()[target](p)
			if able := slices.Contains([]string{"json", "csv", "pytorchjob"}, target); able != (err == nil) || !able && !strings.Contains(err.Error(), "its command is torchrun") {
				t.Errorf("%s, %q: %v", target, command, err)
			}
		}
	}
}

func ExampleNew() {
	e, err := New("torchrun")
	if err != nil {
		fmt.Println(err)
		return
	}
	files, err := e(data.Plan{Version: data.PlanVersion, Jobs: []data.PlannedJob{{
		Name: "cifar", Action: data.Start, GPUType: "t4", Mode: data.AllReduce, Workers: 2, LocalBatch: 64,
		Placement: []data.NodeShare{{Node: "t01", Workers: 2}},
		Template:  data.Template{Command: []string{"python", "train.py"}},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		for _, line := range strings.Split(string(f.Data), "\n") {
			if strings.Contains(line, "exec torchrun") {
				fmt.Println(f.Name + ":" + line)
			}
		}
	}
	// Output:
	// cifar.torchrun.sh:  exec torchrun --nnodes=1 --nproc-per-node=2 --node-rank=0 --master-addr=t01 --master-port="${MASTER_PORT:-32457}" train.py ;;
}

// A time limit is one of Slurm or a duration, and every target has it in its own form.
func TestTimeLimit(t *testing.T) {
	for limit, want := range map[string]string{"36h": "36:00:00", "2d12h": "60:00:00", "90": "01:30:00", "1:30": "00:01:30", "10m": "00:10:00", "1-6": "30:00:00", "1-6:30:15": "30:30:15", "12:00:00": "12:00:00"} {
		p := samplePlan()
		p.Jobs = p.Jobs[:1]
		p.Jobs[0].Template.TimeLimit = limit
		files, err := exporters()["slurm"](p)
		if err != nil || !strings.Contains(string(files[0].Data), "#SBATCH --time="+want+"\n") {
			t.Errorf("%s: %v, want %s", limit, err, want)
		}
		var h, m, s int
		if _, err := fmt.Sscanf(want, "%d:%d:%d", &h, &m, &s); err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{"pytorchjob", "jobset", "mpijob", "trainjob", "tfjob", "rayjob", "kueue"} {
			files, err := exporters()[target](p)
			text := ""
			for _, f := range files {
				text += string(f.Data)
			}
			if err != nil || !strings.Contains(text, fmt.Sprintf("activeDeadlineSeconds: %d\n", 3600*h+60*m+s)) {
				t.Errorf("%s: %s, %v", target, limit, err)
			}
		}
	}
}
