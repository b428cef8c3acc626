//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"knee/internal/kube"
)

// pod is what running one takes.
type pod struct {
	kube.Object
	Spec struct {
		NodeName   string      `json:"nodeName"`
		Hostname   string      `json:"hostname"`
		Subdomain  string      `json:"subdomain"`
		Grace      *int        `json:"terminationGracePeriodSeconds"`
		Containers []container `json:"containers"`
	} `json:"spec"`
	Status corev1.PodStatus `json:"status"`
}

type container struct {
	Name      string   `json:"name"`
	Image     string   `json:"image"`
	Command   []string `json:"command"`
	Args      []string `json:"args"`
	Dir       string   `json:"workingDir"`
	Env       []envVar `json:"env"`
	Resources struct {
		Limits map[string]string `json:"limits"`
	} `json:"resources"`
}

type envVar struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	ValueFrom struct {
		FieldRef struct {
			FieldPath string `json:"fieldPath"`
		} `json:"fieldRef"`
	} `json:"valueFrom"`
}

func (p *pod) path() string { return kube.PodPath(p.Namespace, p.Name) }

// process is the one container of a pod.
type process struct {
	agent   *agent
	pod     pod
	cmd     *exec.Cmd
	out     *output
	started time.Time
	oom     bool
	stopped bool
	ended   chan struct{}
}

// podChanged starts pods that were given to one of the nodes and ends those
// that are deleted.
func (a *agent) podChanged(ctx context.Context, c kube.Change[pod]) {
	p := c.Object
	if !a.nodes[p.Spec.NodeName] || a.lost(p.Spec.NodeName) {
		return
	}
	key := p.Namespace + "/" + p.Name
	a.mu.Lock()
	running := a.pods[key]
	if running != nil && running.pod.UID != p.UID {
		running.signal(syscall.SIGKILL)
		running = nil
	}
	if running == nil && !c.Deleted && p.DeletionTimestamp == nil && p.Status.Phase == "Pending" {
		running = &process{agent: a, pod: p, out: newOutput(), ended: make(chan struct{})}
		a.pods[key] = running
		a.wait.Add(1)
		go running.run(ctx)
	}
	a.mu.Unlock()
	switch {
	case c.Deleted:
		if running != nil {
			running.signal(syscall.SIGKILL)
		}
	case p.DeletionTimestamp == nil:
	case running == nil:
		go a.remove(ctx, &p)
	case !running.stopped:
		running.stopped = true
		go running.stop(ctx)
	}
}

// run runs the container and reports its states.
func (p *process) run(ctx context.Context) {
	defer p.agent.wait.Done()
	defer close(p.ended)
	c := p.pod.Spec.Containers[0]
	if strings.HasPrefix(c.Image, "missing/") {
		p.out.close()
		p.report(ctx, "Pending", corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "pull " + c.Image + ": not found"}})
		return
	}
	argv := append(append([]string{}, c.Command...), c.Args...)
	if len(argv) == 0 {
		argv = []string{"the command of the image"} // which cannot be started
	}
	for i := range argv {
		argv[i] = expand(argv[i])
	}
	p.started = time.Now()
	r, w, err := os.Pipe()
	if err == nil {
		p.cmd = exec.Command(argv[0], argv[1:]...)
		p.cmd.Dir, p.cmd.Env = c.Dir, p.environ(c)
		p.cmd.Stdout, p.cmd.Stderr = w, w
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		err = p.cmd.Start()
		w.Close()
	}
	if err != nil {
		p.out.close()
		p.report(ctx, "Failed", corev1.ContainerState{Terminated: p.terminated(128, "StartError", err.Error())})
		return
	}
	p.report(ctx, "Running", corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(p.started)}})
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.out.read(r)
	}()
	over := make(chan struct{})
	go p.watchMemory(c.Resources.Limits["memory"], over)
	err = p.cmd.Wait()
	close(over)
	p.signal(syscall.SIGKILL) // what it left behind
	<-read
	p.out.close()
	if p.agent.lost(p.pod.Spec.NodeName) || ctx.Err() != nil {
		return
	}
	code, reason, phase := exitCode(err), "Completed", "Succeeded"
	if code != 0 {
		reason, phase = "Error", "Failed"
	}
	if p.oom {
		reason = "OOMKilled"
	}
	p.report(ctx, phase, corev1.ContainerState{Terminated: p.terminated(code, reason, "")})
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return 1
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return exit.ExitCode()
}

func (p *process) terminated(code int, reason, message string) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: reason, Message: message, StartedAt: metav1.NewTime(p.started), FinishedAt: metav1.Now()}
}

// report writes the state of the pod to the API server, the conditions that others have
// set left as they are. As a kubelet does, it tries again while the server is away.
func (p *process) report(ctx context.Context, phase string, state corev1.ContainerState) {
	path := p.pod.path()
	isReady := "False"
	if phase == "Running" {
		isReady = "True"
	}
	now := time.Now().UTC().Format(time.RFC3339)
	write := func(o map[string]any) {
		status, _ := o["status"].(map[string]any)
		var kept []any
		for _, v := range asList(status["conditions"]) {
			if c, ok := v.(map[string]any); ok && c["type"] != "Ready" {
				kept = append(kept, c)
			}
		}
		status["conditions"] = append(kept, map[string]any{"type": "Ready", "status": isReady, "lastTransitionTime": now})
		status["phase"] = phase
		status["hostIP"], status["podIP"], status["podIPs"] = loopback, p.address(), []any{map[string]any{"ip": p.address()}}
		status["startTime"] = now
		c := p.pod.Spec.Containers[0]
		status["containerStatuses"] = []any{map[string]any{"name": c.Name, "image": c.Image, "imageID": "", "restartCount": 0,
			"ready": phase == "Running", "state": state}}
	}
	for range 60 {
		err := p.agent.change(ctx, path, path+"/status", write)
		if err == nil || kube.IsNotFound(err) || ctx.Err() != nil {
			return
		}
		log.Printf("pod %s: report %s: %v", path, phase, err)
		time.Sleep(time.Second)
	}
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// stop ends a deleted pod and tells the API server that it is gone.
func (p *process) stop(ctx context.Context) {
	grace := 30
	if p.pod.Spec.Grace != nil {
		grace = *p.pod.Spec.Grace
	}
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(time.Duration(grace) * time.Second):
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
	p.agent.remove(ctx, &p.pod)
}

// remove takes a pod out of the API server's record for good.
func (a *agent) remove(ctx context.Context, p *pod) {
	if err := a.client.Delete(ctx, p.path(), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil && ctx.Err() == nil {
		log.Printf("pod %s: %v", p.path(), err)
	}
}

// signal sends a signal to all processes of the container.
func (p *process) signal(s syscall.Signal) {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// watchMemory kills the container when it uses more than its limit.
func (p *process) watchMemory(limit string, over <-chan struct{}) {
	most, err := strconv.ParseInt(strings.TrimSuffix(limit, "Mi"), 10, 64)
	if err != nil {
		return
	}
	for {
		select {
		case <-over:
			return
		case <-time.After(50 * time.Millisecond):
		}
		// Field 2 of statm is the resident memory in pages.
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
		fields := strings.Fields(string(text))
		if len(fields) < 2 {
			continue
		}
		pages, _ := strconv.ParseInt(fields[1], 10, 64)
		if pages*int64(os.Getpagesize()) > most<<20 {
			p.oom = true
			p.signal(syscall.SIGKILL)
			return
		}
	}
}

// environ is the environment of the container.
func (p *process) environ(c container) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "HOSTNAME=" + p.pod.Spec.Hostname}
	for _, v := range c.Env {
		value := expand(v.Value)
		if path := v.ValueFrom.FieldRef.FieldPath; path != "" {
			value = p.field(path)
		}
		env = append(env, v.Name+"="+p.resolve(value))
	}
	return env
}

// field returns a field of the pod that a variable refers to.
func (p *process) field(path string) string {
	if key, ok := strings.CutPrefix(path, "metadata.annotations['"); ok {
		return p.pod.Annotations[strings.TrimSuffix(key, "']")]
	}
	return p.pod.Name
}

// expand undoes the doubling of dollar signs. References to variables are
// left alone: nothing in these tests uses them.
func expand(s string) string { return strings.ReplaceAll(s, "$$", "$") }

// resolve replaces the names of pods under this pod's service by their
// addresses.
func (p *process) resolve(s string) string {
	if p.pod.Spec.Subdomain == "" {
		return s
	}
	names := regexp.MustCompile(`[a-z0-9][-a-z0-9]*\.` + regexp.QuoteMeta(p.pod.Spec.Subdomain) + `\b`)
	return names.ReplaceAllStringFunc(s, addressOf)
}

func (p *process) address() string {
	return addressOf(p.pod.Spec.Hostname + "." + p.pod.Spec.Subdomain)
}

// addressOf gives every name an address of its own.
func addressOf(name string) string {
	h := fnv.New32a()
	_, _ = io.WriteString(h, name) // never fails
	v := h.Sum32()
	return fmt.Sprintf("127.%d.%d.%d", 64+v>>26&63, v>>8&255, 1+v&127)
}

// read takes the lines a container prints until it has closed its output.
func (o *output) read(r io.ReadCloser) {
	defer r.Close()
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			o.add(line)
		}
		if err != nil {
			return
		}
	}
}
