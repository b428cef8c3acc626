package launch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"knee/data"
	"knee/profile/launch"
)

func kubeSpec() data.KubernetesSpec {
	return data.KubernetesSpec{Per: data.PerWorker, Image: "train:1", GPUResource: data.DefaultGPUResource,
		GPULabel: data.DefaultGPULabel, MaxWait: time.Minute, Deadline: time.Hour}
}

// at returns the value at a path of keys and indices in a tree of JSON.
func at(v any, path ...any) any {
	for _, p := range path {
		switch k := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return nil
			}
			v = l[k]
		}
	}
	return v
}

// envOf returns the environment of the first container of a pod spec.
func envOf(spec any) map[string]any {
	env := map[string]any{}
	list, _ := at(spec, "containers", 0, "env").([]any)
	for _, v := range list {
		env[at(v, "name").(string)] = at(v, "value")
		if from := at(v, "valueFrom", "fieldRef", "fieldPath"); from != nil {
			env[at(v, "name").(string)] = from
		}
	}
	return env
}

// submitted returns the objects of a trial; the server refuses the rest.
func submitted(t *testing.T, spec data.KubernetesSpec, trial launch.Trial, nodes ...string) *fakeAPI {
	t.Helper()
	f := newFakeAPI(t)
	f.nodes, f.refuse = nodes, "Job"
	if trial.Config.PS > 0 {
		f.refuse = "Pod"
	}
	_, err := f.launch(t, spec, trial)
	var failure *launch.Failure
	if err == nil || errors.As(err, &failure) || !strings.Contains(err.Error(), "exceeded quota: gpus") {
		t.Fatalf("err = %v, want the server's refusal", err)
	}
	if len(f.deleted) == 0 {
		t.Error("what was created before was not deleted")
	}
	return f
}

func TestKubernetesJob(t *testing.T) {
	spec := kubeSpec()
	spec.Requests, spec.Labels = map[string]string{"cpu": "8"}, map[string]string{"kueue.x-k8s.io/queue-name": "q"}
	spec.Template = map[string]any{"metadata": map[string]any{"annotations": map[string]any{"a": "b"}},
		"spec": map[string]any{"serviceAccountName": "sa", "containers": []any{map[string]any{"name": "main", "args": []any{"x"},
			"env": []any{map[string]any{"name": "RANK", "value": "no"}, map[string]any{"name": "KEPT", "value": "$(POD)"}}}}}}
	trial := launch.Trial{ID: 7, Attempt: 2, Command: []string{"train", "$(HOME) costs $5"}, Env: map[string]string{"NCCL_DEBUG": "$x"},
		Config: data.Config{Job: "ResNet 50/ImageNet", GPUType: "a100", Workers: 4, LocalBatch: 32, Mode: data.PSSync, PS: 2}}
	f := submitted(t, spec, trial, "NVIDIA-A100-SXM4-80GB", "Tesla-T4")
	job := f.created["Job"]
	name := at(job, "metadata", "name").(string)
	if !strings.HasPrefix(name, "knee-resnet-50-imagenet-t7-2-") || len(name) > 52 {
		t.Errorf("name %q", name)
	}
	pod := at(job, "spec", "template", "spec")
	env := envOf(pod)
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"namespace", at(job, "metadata", "namespace"), "team"},
		{"completions", at(job, "spec", "completions"), 4.0},
		{"parallelism", at(job, "spec", "parallelism"), 4.0},
		{"retries", at(job, "spec", "backoffLimit"), 0.0},
		{"trial", at(job, "metadata", "labels", "knee/trial"), "7"},
		{"queue", at(job, "metadata", "labels", "kueue.x-k8s.io/queue-name"), "q"},
		{"run of a pod", at(job, "spec", "template", "metadata", "labels", "knee/run"), name},
		{"annotation of the user", at(job, "spec", "template", "metadata", "annotations", "a"), "b"},
		{"account of the user", at(pod, "serviceAccountName"), "sa"},
		{"image", at(pod, "containers", 0, "image"), "train:1"},
		{"container", at(pod, "containers", 0, "name"), "main"},
		{"command", at(pod, "containers", 0, "command", 1), "$$(HOME) costs $$5"},
		{"args", at(pod, "containers", 0, "args"), nil},
		{"GPU", at(pod, "containers", 0, "resources", "limits", "nvidia.com/gpu"), 1.0},
		{"cpu", at(pod, "containers", 0, "resources", "requests", "cpu"), "8"},
		{"type", at(pod, "nodeSelector", "nvidia.com/gpu.product"), "NVIDIA-A100-SXM4-80GB"},
		{"restart", at(pod, "restartPolicy"), "Never"},
		{"affinity", at(pod, "affinity"), nil},
		{"rank", env["RANK"], "metadata.annotations['batch.kubernetes.io/job-completion-index']"},
		{"world", env["WORLD_SIZE"], "6"},
		{"0", env["MASTER_ADDR"], name + "-0." + name},
		{"servers", env["KNEE_PS_HOSTS"], name + "-ps0." + name + ":29501," + name + "-ps1." + name + ":29502"},
		{"batch", env["KNEE_LOCAL_BATCH"], "32"},
		{"variable of the study", env["NCCL_DEBUG"], "$$x"},
		{"variable of the template", env["KEPT"], "$(POD)"},
		{"service", at(f.created["Service"], "spec", "clusterIP"), "None"},
		{"owner of a server", at(f.servers[0], "metadata", "ownerReferences", 0, "uid"), "u-Job"},
		{"rank of a server", envOf(at(f.servers[0], "spec"))["RANK"], "4"},
		{"role of a server", envOf(at(f.servers[0], "spec"))["KNEE_ROLE"], "ps"},
		{"GPU of a server", at(f.servers[0], "spec", "containers", 0, "resources", "limits"), nil},
		{"type of a server", at(f.servers[0], "spec", "nodeSelector"), nil},
		{"host of a server", at(f.servers[0], "spec", "hostname"), name + "-ps0"},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
	if at(spec.Template, "spec", "containers", 0, "image") != nil {
		t.Error("the template of the study was changed")
	}
}

func TestKubernetesPerNode(t *testing.T) {
	spec := kubeSpec()
	spec.Per = data.PerNode
	trial := launch.Trial{ID: 1, Attempt: 1, Command: []string{"torchrun", "train.py"},
		Config: data.Config{Job: "a", GPUType: "a100", Workers: 8, Placement: data.Placement{4, 4}}}
	f := submitted(t, spec, trial, "NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-PCIE-40GB")
	pod := at(f.created["Job"], "spec", "template", "spec")
	env := envOf(pod)
	if n := at(f.created["Job"], "spec", "completions"); n != 2.0 {
		t.Errorf("%v pods, want one per node", n)
	}
	if g := at(pod, "containers", 0, "resources", "limits", "nvidia.com/gpu"); g != 4.0 {
		t.Errorf("%v GPUs per pod, want 4", g)
	}
	if env["PET_NNODES"] != "2" || env["PET_NPROC_PER_NODE"] != "4" || env["WORLD_SIZE"] != nil || env["PET_MASTER_ADDR"] != env["MASTER_ADDR"] {
		t.Errorf("environment %v", env)
	}
	if k := at(pod, "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution", 0, "topologyKey"); k != "kubernetes.io/hostname" {
		t.Errorf("pods are not kept apart: %v", at(pod, "affinity"))
	}
	// Two products are an a100: either will do.
	want := []any{"NVIDIA-A100-PCIE-40GB", "NVIDIA-A100-SXM4-40GB"}
	got := at(pod, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms", 0, "matchExpressions", 0, "values")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

// Node selector terms are alternatives: each of the user's has to name the products too.
func TestKubernetesKeepsNodeTerms(t *testing.T) {
	term := func(zone string) any {
		in := map[string]any{"key": "zone", "operator": "In", "values": []any{zone}}
		return map[string]any{"matchExpressions": []any{in}}
	}
	nodes := map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": []any{term("a"), term("b")}}}
	spec := kubeSpec()
	spec.Template = map[string]any{"spec": map[string]any{"affinity": map[string]any{"nodeAffinity": nodes}}}
	trial := launch.Trial{ID: 1, Attempt: 1, Command: []string{"train"}, Config: data.Config{Job: "a", GPUType: "a100", Workers: 1}}
	f := submitted(t, spec, trial, "NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-PCIE-40GB")
	pod := at(f.created["Job"], "spec", "template", "spec")
	for i, zone := range []string{"a", "b"} {
		terms := at(pod, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms", i, "matchExpressions")
		if products, zones := at(terms, 0, "values"), at(terms, 1, "values"); len(products.([]any)) != 2 || zones.([]any)[0] != zone {
			t.Errorf("term %d: %v", i, terms)
		}
	}
}

func TestKubernetesRefusesShapes(t *testing.T) {
	for _, tc := range []struct {
		name, per string
		config    data.Config
		want      string
	}{
		{"uneven", data.PerNode, data.Config{Workers: 3, Placement: data.Placement{2, 1}}, "unevenly placed"},
		{"between", data.PerWorker, data.Config{Workers: 4, Nodes: 2}, "use per: node"},
	} {
		f := newFakeAPI(t)
		spec := kubeSpec()
		spec.Per = tc.per
		_, err := f.launch(t, spec, launch.Trial{ID: 1, Attempt: 1, Command: []string{"x"}, Config: tc.config})
		var failure *launch.Failure
		if !errors.As(err, &failure) || failure.Status != data.Infeasible || !strings.Contains(failure.Detail, tc.want) || len(f.created) > 0 {
			t.Errorf("%s: err = %v, created %v", tc.name, err, f.created)
		}
	}
}

const podDone = `{"metadata":{"name":%q,"namespace":"team","uid":%q,"resourceVersion":"1","labels":{"knee/role":"worker"},"annotations":{"batch.kubernetes.io/job-completion-index":%q}},
"spec":{"nodeName":"n","containers":[{"name":"trial"},{"name":"sidecar"}]},
"status":{"phase":"Succeeded","containerStatuses":[{"name":"sidecar","state":{"running":{}}},{"name":"trial","state":{"terminated":{"exitCode":%d,"reason":%q,"startedAt":"2026-03-01T12:00:00Z","finishedAt":"2026-03-01T12:00:%02dZ"}}}]}}`

func step12(second string, n int) string {
	return fmt.Sprintf("2026-03-01T12:00:%sZ knee: {\"step\":%d,\"step_time_s\":0.5}\n", second, n)
}

// TestKubernetesFollows follows the pods of a job, with output whose connection
// breaks within a second of three lines, one pair of the same time.
func TestKubernetesFollows(t *testing.T) {
	f := newFakeAPI(t)
	f.pods = []string{fmt.Sprintf(podDone, "j-0", "1", "0", 0, "Completed", 9), fmt.Sprintf(podDone, "j-1", "2", "1", 0, "Completed", 9)}
	whole := step12("01.1", 1) + step12("01.5", 2) + step12("01.5", 3) + step12("01.6", 4) + step12("02", 5)
	f.logs["j-0"] = []string{step12("01.1", 1) + step12("01.5", 2) + "2026-03-01T12:00:01.5Z knee: {\"st✂", whole}
	f.logs["j-1"] = []string{"2026-03-01T12:00:01Z hello from one\n"}
	var began time.Time
	log := filepath.Join(t.TempDir(), "log")
	obs, err := f.launch(t, kubeSpec(), launch.Trial{ID: 1, Attempt: 1, Command: []string{"train"}, Log: log, Began: func(at time.Time) { began = at },
		Config: data.Config{Job: "a", Workers: 2, GPUType: "t4"}})
	if err != nil {
		t.Fatal(err)
	}
	var steps []float64
	for _, o := range obs {
		steps = append(steps, o.Step)
	}
	if diff := cmp.Diff([]float64{1, 2, 3, 4, 5}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if len(obs) > 0 && !obs[0].At.Equal(time.Date(2026, 3, 1, 12, 0, 1, 1e8, time.UTC)) {
		t.Errorf("the first step at %v, want the time of the node", obs[0].At)
	}
	if !began.Equal(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("began at %v", began)
	}
	text, _ := os.ReadFile(log)
	if !strings.Contains(string(text), "[worker 1] hello from one") {
		t.Errorf("log:\n%s", text)
	}
}

// A disrupted pod takes precedence over one that failed because of it, and one
// out of memory over one that lost its peer.
func TestKubernetesBlame(t *testing.T) {
	failed := func(name, index string, code int, reason string, second int) string {
		return fmt.Sprintf(podDone, name, name, index, code, reason, second)
	}
	evicted := strings.Replace(failed("j-1", "1", 143, "Error", 8), `"phase":"Succeeded"`,
		`"phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI","message":"drained"}]`, 1)
	for _, tc := range []struct {
		name      string
		pods      []string
		status    data.Status
		preempted bool
		detail    string
	}{
		{"evicted", []string{failed("j-0", "0", 1, "Error", 7), evicted}, data.Failed, true, "worker 1 was taken away: EvictionByEvictionAPI: drained"},
		{"memory", []string{failed("j-0", "0", 1, "Error", 7), failed("j-1", "1", 137, "OOMKilled", 8)}, data.OOM, false, "worker 1: OOMKilled"},
		{"first", []string{failed("j-0", "0", 1, "Error", 9), failed("j-1", "1", 2, "Error", 8)}, data.Failed, false, "worker 1: exit status 2: bye"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeAPI(t)
			f.pods = tc.pods
			f.logs["j-0"] = []string{"2026-03-01T12:00:01Z connection reset\n"}
			f.logs["j-1"] = []string{"2026-03-01T12:00:01Z bye\n"}
			_, err := f.launch(t, kubeSpec(), launch.Trial{ID: 1, Attempt: 1, Command: []string{"train"}, Config: data.Config{Workers: 2}})
			var got *launch.Failure
			if !errors.As(err, &got) || got.Status != tc.status || got.Preempted != tc.preempted || got.Detail != tc.detail {
				t.Errorf("got %#v", err)
			}
		})
	}
}

// Servers missing because knee died after creating the job are created.
func TestKubernetesTakesUpHalf(t *testing.T) {
	f := newFakeAPI(t)
	f.pods = []string{fmt.Sprintf(podDone, "j-0", "1", "0", 0, "Completed", 9)}
	f.logs["j-0"] = []string{step12("01", 1)}
	obs, err := f.launch(t, kubeSpec(), launch.Trial{ID: 1, Attempt: 1, Command: []string{"train"}, Handle: "team/j",
		Submitted: func(string) error { return errors.New("submitted a second time") },
		Config:    data.Config{Workers: 1, PS: 2, Mode: data.PSSync}})
	if err != nil || len(obs) != 1 {
		t.Errorf("%d observations, %v", len(obs), err)
	}
	if f.created["Job"] != nil || len(f.servers) != 2 || at(f.servers[1], "metadata", "name") != "j-ps1" {
		t.Errorf("created job %v, servers %v; want the two servers and no job", f.created["Job"], f.servers)
	}
}

// A trial whose context has ended is removed: so are those of a study that is begun again.
func TestKubernetesRemovesWhatWasSubmitted(t *testing.T) {
	ended, cancel := context.WithCancelCause(t.Context())
	again := errors.New("begun again")
	cancel(again)
	f := newFakeAPI(t)
	_, err := f.launchUntil(ended, t, kubeSpec(), launch.Trial{ID: 1, Attempt: 1, Command: []string{"train"}, Handle: "team/j", Config: data.Config{Workers: 1}})
	if err != again || !slices.Contains(f.deleted, "/apis/batch/v1/namespaces/team/jobs/j") {
		t.Errorf("%v, removed %q, want the job", err, f.deleted)
	}
}

// A progress bar is one line to Kubernetes, and many steps.
func TestKubernetesProgressBar(t *testing.T) {
	f := newFakeAPI(t)
	f.pods = []string{fmt.Sprintf(podDone, "j-0", "1", "0", 0, "Completed", 9)}
	f.logs["j-0"] = []string{`2026-03-01T12:00:01Z knee: {"step":1,"step_time_s":1}` + "\r" + `knee: {"step":2,"step_time_s":1}` + "\n"}
	obs, err := f.launch(t, kubeSpec(), launch.Trial{ID: 1, Attempt: 1, Command: []string{"train"}, Config: data.Config{Workers: 1}})
	if err != nil || len(obs) != 2 || obs[1].Step != 2 {
		t.Errorf("observed %+v, %v; want two steps", obs, err)
	}
}

// A progress bar that sends no line feed is read as it is drawn, and its states once each,
// though the connection breaks within its line.
func TestKubernetesEndlessBar(t *testing.T) {
	f := newFakeAPI(t)
	f.pods = []string{strings.Replace(fmt.Sprintf(podDone, "j-0", "1", "0", 0, "Completed", 9), `"terminated":{`, `"running":{`, 1)}
	bar := "2026-03-01T12:00:01Z "
	for n := range 5 {
		bar += fmt.Sprintf("knee: {\"step\":%d,\"step_time_s\":1}\r", n+1)
	}
	f.logs["j-0"] = []string{bar[:len(bar)-20] + "✂", bar}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	obs, err := f.launchUntil(ctx, t, kubeSpec(), launch.Trial{ID: 1, Attempt: 1, Command: []string{"train"}, Config: data.Config{Workers: 1}})
	if !errors.Is(err, context.DeadlineExceeded) || len(obs) != 5 || obs[4].Step != 5 {
		t.Errorf("observed %+v, %v; want five steps", obs, err)
	}
}

// Missing permission to read output is reported at once, not as missing steps.
func TestKubernetesForbiddenLogs(t *testing.T) {
	f := newFakeAPI(t)
	f.pods = []string{fmt.Sprintf(podDone, "j-0", "1", "0", 0, "Completed", 9)}
	f.logs["j-0"] = []string{"403"}
	_, err := f.launch(t, kubeSpec(), launch.Trial{ID: 1, Attempt: 1, Command: []string{"train"}, Config: data.Config{Workers: 1}})
	var failure *launch.Failure
	if err == nil || errors.As(err, &failure) || !strings.Contains(err.Error(), "cannot get resource pods/log") {
		t.Errorf("err = %v, want the server's refusal", err)
	}
}

// Names are valid in Kubernetes for any job name.
func TestKubernetesNames(t *testing.T) {
	f := newFakeAPI(t)
	f.refuse = "Job"
	rapid.Check(t, func(rt *rapid.T) {
		trial := launch.Trial{ID: rapid.IntRange(1, 99999).Draw(rt, "id"), Attempt: rapid.IntRange(1, 99).Draw(rt, "attempt"), Command: []string{"x"},
			Config: data.Config{Job: rapid.String().Draw(rt, "job"), Workers: 1}}
		_, _ = f.launch(t, kubeSpec(), trial)
		f.mu.Lock()
		defer f.mu.Unlock()
		name := at(f.created["Job"], "metadata", "name").(string)
		study := at(f.created["Job"], "metadata", "labels", "knee/study").(string)
		for _, s := range []string{name, study} {
			if s == "" || len(s) > 63 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || s[0] == '-' || s[len(s)-1] == '-' {
				rt.Errorf("%q of %q", s, trial.Config.Job)
			}
		}
		if len(name) > 63-len("-1000") {
			rt.Errorf("%q leaves no room for an index", name)
		}
	})
}
