//go:build unix

package launch_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"knee/data"
	"knee/internal/kube"
	"knee/profile/launch"
)

// engine is a real API server, scheduler and controller manager with the
// nodes of test/engines/kubelet, whose pods are processes. The script
// test/integration/kubernetes starts it and runs these tests.
type engine struct {
	t      *testing.T
	client *kube.Client
	dir    string // of the control plane
	spec   data.KubernetesSpec
}

// newEngine skips the test unless KNEE_TEST_KUBERNETES names the folder of a
// running engine.
func newEngine(t *testing.T) *engine {
	dir := os.Getenv("KNEE_TEST_KUBERNETES")
	if dir == "" {
		t.Skip("no Kubernetes engine; test/integration/kubernetes starts one and sets KNEE_TEST_KUBERNETES")
	}
	e := &engine{t: t, dir: dir, spec: engineSpec(dir)}
	var err error
	if e.client, err = kube.Load(kube.Settings{Kubeconfig: e.spec.Kubeconfig}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.nothingLeft)
	return e
}

func engineSpec(dir string) data.KubernetesSpec {
	return data.KubernetesSpec{Kubeconfig: filepath.Join(dir, "kubeconfig"), Namespace: "default", Per: data.PerWorker, Image: "any",
		GPUResource: data.DefaultGPUResource, GPULabel: data.DefaultGPULabel, MaxWait: 3 * time.Minute, Deadline: time.Hour}
}

// nothingLeft fails the test if an object of a trial is left. After an outage, controllers
// that have backed off look at the server again within about a minute.
func (e *engine) nothingLeft() {
	const managed = "app.kubernetes.io/managed-by=knee"
	for _, path := range []string{kube.PodsPath("default"), kube.ServicesPath("default"), kube.JobsPath("default")} {
		left := []kube.Object{{}}
		for range 1200 {
			var err error
			if left, _, err = kube.ListAll[kube.Object](context.Background(), e.client, path, metav1.ListOptions{LabelSelector: managed}); err != nil {
				e.t.Fatal(err)
			}
			if len(left) == 0 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		for _, o := range left {
			e.t.Errorf("left behind: %s/%s", path, o.Name)
		}
	}
}

// reachable waits until the node controller has seen again that the nodes are up.
func (e *engine) reachable() {
	for range 1200 {
		nodes, _, err := kube.ListAll[corev1.Node](context.Background(), e.client, kube.NodesPath(), metav1.ListOptions{})
		if err == nil && !slices.ContainsFunc(nodes, func(n corev1.Node) bool {
			return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable })
		}) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	e.t.Error("nodes are still taken for lost")
}

// running is a trial in progress.
type running struct {
	obs  chan launch.Observation
	err  chan error
	stop context.CancelCauseFunc
	log  string

	mu     sync.Mutex
	handle string
	began  time.Time
}

// launch runs a shell script as a trial.
func (e *engine) launch(t launch.Trial, script string) *running {
	e.t.Helper()
	parser, err := launch.NewParser(data.Metrics{})
	if err != nil {
		e.t.Fatal(err)
	}
	k, err := launch.NewKubernetes(e.spec, parser)
	if err != nil {
		e.t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	e.t.Cleanup(func() { stop(nil) })
	r := &running{obs: make(chan launch.Observation, 10_000), err: make(chan error, 1), stop: stop, log: filepath.Join(e.t.TempDir(), "log")}
	t.Config.Job, t.Log = "engine test", r.log
	if t.ID == 0 {
		t.ID, t.Attempt = 1, 1
	}
	t.Command = []string{"bash", "-c", script}
	t.Submitted = func(h string) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.handle = h
		return nil
	}
	t.Began = func(at time.Time) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.began = at
	}
	go func() { r.err <- k.Launch(ctx, t, r.obs) }()
	return r
}

// end waits for the trial to end.
func (e *engine) end(r *running) error {
	e.t.Helper()
	select {
	case err := <-r.err:
		return err
	case <-time.After(5 * time.Minute):
		text, _ := os.ReadFile(r.log)
		e.t.Fatalf("the trial does not end; its log:\n%s", text)
		return nil
	}
}

// step waits until the trial has reported a step from number n on.
func (e *engine) step(r *running, n float64) {
	e.t.Helper()
	for {
		select {
		case o := <-r.obs:
			if o.Step >= n {
				return
			}
		case err := <-r.err:
			e.t.Fatalf("the trial ended before step %g: %v", n, err)
		case <-time.After(3 * time.Minute):
			e.t.Fatalf("no step %g", n)
		}
	}
}

func (e *engine) failure(err error) *launch.Failure {
	e.t.Helper()
	var f *launch.Failure
	if !errors.As(err, &f) {
		e.t.Fatalf("err = %v, want a failure of the trial", err)
	}
	return f
}

// sh runs a shell command for the test.
func (e *engine) sh(name string, args ...string) {
	e.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		e.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// steps prints n steps, one every pause seconds, from rank 0.
func steps(n, pause string) string {
	return `i=0; while [ $i -lt ` + n + ` ]; do i=$((i+1)); [ "${RANK:-0}" != 0 ] || echo "knee: {\"step\":$i,\"step_time_s\":0.1}"; sleep ` + pause + `; done; `
}

func workers(n int) launch.Trial {
	return launch.Trial{Config: data.Config{Workers: n, GPUType: "a100"}}
}

func TestKubernetesEngineCompletes(t *testing.T) {
	e := newEngine(t)
	trial := workers(3)
	trial.Env = map[string]string{"ODD": `a "b" $(HOME) $$x ü`}
	r := e.launch(trial, `[ "$ODD" = 'a "b" $(HOME) $$x ü' ] || exit 9; echo "rank $RANK of $WORLD_SIZE at $MASTER_ADDR"; `+steps("5", "0.1"))
	if err := e.end(r); err != nil {
		t.Fatal(err)
	}
	if len(r.obs) != 5 {
		t.Errorf("%d observations, want the 5 of rank 0", len(r.obs))
	}
	var last launch.Observation
	for len(r.obs) > 0 {
		o := <-r.obs
		if !o.At.After(last.At) || o.Step != last.Step+1 && last.Step != 0 {
			t.Errorf("step %g at %v after step %g at %v", o.Step, o.At, last.Step, last.At)
		}
		last = o
	}
	if r.began.IsZero() {
		t.Error("Began was not called")
	}
	text, _ := os.ReadFile(r.log)
	for _, want := range []string{"rank 0 of 3", "rank 1 of 3", "rank 2 of 3", "[worker 2]"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the log lacks %q:\n%s", want, text)
		}
	}
}

func TestKubernetesEngineAbort(t *testing.T) {
	e := newEngine(t)
	trial := workers(2)
	trial.Config.Mode, trial.Config.PS = data.PSSync, 1
	r := e.launch(trial, `trap '' TERM; `+steps("1000", "0.1"))
	e.step(r, 3)
	enough := errors.New("enough")
	r.stop(enough)
	if err := e.end(r); !errors.Is(err, enough) {
		t.Errorf("err = %v, want the cause", err)
	}
}

// doomedOnKubernetes is a knee that is killed while its trial runs: it prints
// the trial's name and waits for its end.
func doomedOnKubernetes() {
	parser, err := launch.NewParser(data.Metrics{})
	if err != nil {
		panic(err)
	}
	k, err := launch.NewKubernetes(engineSpec(os.Getenv("KNEE_TEST_KUBERNETES")), parser)
	if err != nil {
		panic(err)
	}
	t := workers(1)
	t.ID, t.Attempt, t.Config.Job = 1, 1, "doomed"
	t.Command = []string{"bash", "-c", steps("60", "0.1")}
	handle := ""
	t.Submitted = func(h string) error { handle = h; return nil }
	t.Began = func(time.Time) { fmt.Println(handle) }
	_ = k.Launch(context.Background(), t, make(chan launch.Observation, 1000))
	os.Exit(0)
}

func TestKubernetesEngineTakesUpAgain(t *testing.T) {
	e := newEngine(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "KNEE_TEST_PART=doomed on kubernetes")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	begun := time.Now()
	time.Sleep(2 * time.Second) // some steps are printed that nobody reads
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil {
		t.Fatal(err)
	}
	trial := workers(1)
	trial.Handle = strings.TrimSpace(line)
	again := e.launch(trial, "exit 1") // not submitted a second time
	if err := e.end(again); err != nil {
		t.Fatal(err)
	}
	if len(again.obs) != 60 {
		t.Errorf("%d observations after taking up, want all 60", len(again.obs))
	}
	if again.began.IsZero() || again.began.After(begun) {
		t.Errorf("began at %v, want the true begin, before %v", again.began, begun)
	}
	if text, _ := os.ReadFile(again.log); !strings.Contains(string(text), "following "+trial.Handle+" again") {
		t.Errorf("the log does not say so:\n%s", text)
	}
	gone := workers(1)
	gone.Handle = "default/knee-never-was"
	if f := e.failure(e.end(e.launch(gone, "true"))); !f.Preempted || !strings.Contains(f.Detail, "not there any more") {
		t.Errorf("%+v", f)
	}
}

func TestKubernetesEngineFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		workers int
		change  func(*data.KubernetesSpec)
		script  string
		want    launch.Failure
	}{
		"exit": {2, nil, `[ "$RANK" = 0 ] && sleep 300; echo no such file >&2; exit 3`,
			launch.Failure{Status: data.Failed, Detail: "worker 1: exit status 3: no such file"}},
		"memory limit": {2, func(s *data.KubernetesSpec) { s.Limits = map[string]string{"memory": "64Mi"} },
			`[ "$RANK" = 1 ] || sleep 300; x=y; while :; do x=$x$x; done`,
			launch.Failure{Status: data.OOM, Detail: "worker 1: OOMKilled"}},
		"GPU memory": {1, nil, `echo "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"; exit 1`,
			launch.Failure{Status: data.OOM, Detail: "CUDA out of memory"}},
		"silent": {1, nil, `echo hello`, launch.Failure{Status: data.Failed, Detail: "without reporting a step"}},
		"no such image": {1, func(s *data.KubernetesSpec) { s.Image, s.MaxWait = "missing/image", 10*time.Second }, `true`,
			launch.Failure{Status: data.Failed, Detail: "ImagePullBackOff: pull missing/image"}},
		"too many GPUs": {9, func(s *data.KubernetesSpec) { s.MaxWait = 10 * time.Second }, `sleep 60`,
			launch.Failure{Status: data.Queued, Detail: "Insufficient nvidia.com/gpu"}},
		"no such type": {1, func(s *data.KubernetesSpec) {
			s.MaxWait = 10 * time.Second
			s.GPUTypes = map[string]string{"a100": "H100"}
		}, `true`, launch.Failure{Status: data.Queued, Detail: "it requests nodes with nvidia.com/gpu.product=H100"}},
		"deadline": {1, func(s *data.KubernetesSpec) { s.Deadline = 2 * time.Second }, steps("600", "0.1"),
			launch.Failure{Status: data.Timeout, Detail: "DeadlineExceeded"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			if tc.change != nil {
				tc.change(&e.spec)
			}
			f := e.failure(e.end(e.launch(workers(tc.workers), tc.script)))
			if f.Status != tc.want.Status || f.Preempted || !strings.Contains(f.Detail, tc.want.Detail) {
				t.Errorf("got %+v\nwant %+v", f, tc.want)
			}
		})
	}
}

func TestKubernetesEngineRefuses(t *testing.T) {
	e := newEngine(t)
	e.spec.Template = map[string]any{"spec": map[string]any{"shareProcesNamespace": true}}
	err := e.end(e.launch(workers(1), "true"))
	var f *launch.Failure
	if err == nil || errors.As(err, &f) || !strings.Contains(err.Error(), `unknown field "spec.template.spec.shareProcesNamespace"`) {
		t.Errorf("err = %v, want the server's word on the misspelt field", err)
	}
}
