package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"knee/data"
	"knee/internal/kube"
)

// Kubernetes runs each trial as a Job of a cluster and follows it through the API server.
//
// Each worker and each parameter server is a pod; with Per node, a pod holds the workers of a
// node, which the command starts. Pods get the environment of [Local]; MASTER_ADDR and
// KNEE_PS_HOSTS are names under a headless service of the trial. With Per node they also get
// NODE_RANK and the PET_ variables that torchrun reads in place of flags.
//
// All objects of a trial carry the label knee/run with the trial's name, by which they are
// watched and removed. The cluster ends a trial after Spec.Deadline and removes its objects a
// day after its end, so that nothing stays if knee dies.
//
// Output is read with the node's time stamps: delays of the network and restarts of the API
// server do not change step times. Lost nodes and eviction are [Failure.Preempted].
type Kubernetes struct {
	Spec   data.KubernetesSpec
	Parser Parser
	Client *kube.Client

	answered atomic.Bool // the API server did, to an earlier trial
}

// NewKubernetes returns a launcher for a cluster, without contacting it.
func NewKubernetes(spec data.KubernetesSpec, p Parser) (*Kubernetes, error) {
	client, err := kube.Load(kube.Settings{Kubeconfig: spec.Kubeconfig, Context: spec.Context})
	if err != nil {
		return nil, err
	}
	spec.Namespace = cmp.Or(spec.Namespace, client.Namespace)
	return &Kubernetes{Spec: spec, Parser: p, Client: client}, nil
}

// Launch implements [Launcher]. Before it returns the trial's objects are deleted and its
// pods gone, provided that the API server answers.
func (k *Kubernetes) Launch(ctx context.Context, t Trial, obs chan<- Observation) error {
	log, err := openLog(t)
	if err != nil {
		return err
	}
	defer log.Close()
	r := &kubeRun{kube: k, heard: newHeard(k.Parser, t, obs), trial: t, log: &sharedLog{to: log}}
	if err = r.begin(ctx); err == nil {
		err = r.follow(ctx)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return r.finish(err)
}

// await asks the API server until it answers. An outage is waited for as by a running trial; a
// server that never answered may have been named wrongly.
func (k *Kubernetes) await(ctx context.Context, ask func() error) error {
	for begun := time.Now(); ; time.Sleep(logPause) {
		err := ask()
		if !kube.IsTemporary(err) {
			k.answered.Store(true)
			return nil
		}
		if ctx.Err() != nil || !k.answered.Load() || time.Since(begun) > kube.OutageTimeout {
			return err
		}
	}
}

// finish removes the trial's objects; what fails is logged, and added to an error.
func (r *kubeRun) finish(err error) error {
	if r.name == "" {
		return err
	}
	r.log.note("over; removing its objects")
	left := r.clean()
	if left == nil {
		r.log.note("removed")
		return err
	}
	if r.log.note("%v", left); err == nil {
		return nil // its pods have ended
	}
	return errors.Join(err, left)
}

// gpuLabelValues returns the values of the GPU label for nodes of a type: those of the study,
// else those on nodes that read as the type, else the type's name. Nil means any node.
func (k *Kubernetes) gpuLabelValues(ctx context.Context, gpuType string) []string {
	if k.Spec.GPULabel == "" {
		return nil
	}
	if v, ok := k.Spec.GPUTypes[gpuType]; ok {
		return []string{v}
	}
	if cpuOnly(gpuType) {
		return nil
	}
	values, err := kube.LabelValues(ctx, k.Client, k.Spec.GPULabel, gpuType)
	if err != nil || len(values) == 0 {
		return []string{gpuType}
	}
	return values
}

type kubeRun struct {
	heard *heard
	kube  *Kubernetes
	trial Trial
	log   *sharedLog
	name  string // of the main object; empty until there may be one
}

func (r *kubeRun) selector() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: labelRun + "=" + r.name}
}

// begin submits the trial, or finds the job of one that was submitted before.
func (r *kubeRun) begin(ctx context.Context) error {
	if r.trial.Handle == "" {
		err := r.kube.await(ctx, func() error { return r.kube.Client.Get(ctx, "/version", nil) })
		if err == nil {
			err = r.submit(ctx)
		}
		return err
	}
	namespace, name, ok := strings.Cut(r.trial.Handle, "/")
	if !ok || namespace == "" || name == "" {
		return fmt.Errorf("trial %d is recorded as %q, want NAMESPACE/NAME of a Kubernetes job", r.trial.ID, r.trial.Handle)
	}
	if namespace != r.kube.Spec.Namespace {
		return fmt.Errorf("trial %d runs in namespace %q, but the study now names %q; restore it, or delete job %s there by hand",
			r.trial.ID, namespace, r.kube.Spec.Namespace, name)
	}
	r.name = name
	var job batchv1.Job
	switch err := r.kube.Client.Get(ctx, kube.JobsPath(r.kube.Spec.Namespace)+"/"+name, &job); {
	case kube.IsNotFound(err):
		// Knee ended before it created the job, or somebody removed it.
		return &Failure{Status: data.Failed, Preempted: true, Detail: fmt.Sprintf("job %s is not there any more", name)}
	case err != nil:
		return fmt.Errorf("find job %s again: %w", name, err)
	}
	r.log.note("following %s again", r.trial.Handle)
	if r.trial.Config.PS == 0 || jobIs(&job, batchv1.JobComplete) != nil || jobIs(&job, batchv1.JobSuccessCriteriaMet) != nil || jobFailure(&job) != nil {
		return nil
	}
	// Knee may have ended before it created all servers; existing ones are kept.
	objects, err := r.kube.manifests(name, r.trial, nil)
	if err != nil {
		return err
	}
	return r.createServers(ctx, objects.servers, &job)
}

// submit creates the objects. Their name is recorded first, to find them if knee dies.
func (r *kubeRun) submit(ctx context.Context) error {
	name := r.kube.newName(r.trial)
	objects, err := r.kube.manifests(name, r.trial, r.kube.gpuLabelValues(ctx, r.trial.Config.GPUType))
	if err != nil {
		return err
	}
	if r.trial.Submitted != nil {
		if err := r.trial.Submitted(r.kube.Spec.Namespace + "/" + name); err != nil {
			return err
		}
	}
	r.name = name
	var service map[string]any
	if objects.service != nil {
		if err := r.create(ctx, kube.ServicesPath(r.kube.Spec.Namespace), objects.service, &service); err != nil {
			return err
		}
	}
	var main batchv1.Job
	if err := r.create(ctx, kube.JobsPath(r.kube.Spec.Namespace), objects.main, &main); err != nil {
		return err
	}
	if service != nil {
		// Kubernetes removes owned objects with their owner, even if knee has died.
		service["metadata"].(map[string]any)["ownerReferences"] = ownedBy(&main)
		if err := r.kube.Client.Update(ctx, kube.ServicesPath(r.kube.Spec.Namespace)+"/"+name, service, nil); err != nil {
			return fmt.Errorf("update service %s: %w", name, err)
		}
	}
	if err := r.createServers(ctx, objects.servers, &main); err != nil {
		return err
	}
	r.log.note("created job %s/%s", r.kube.Spec.Namespace, name)
	return nil
}

func (r *kubeRun) createServers(ctx context.Context, pods []map[string]any, main *batchv1.Job) error {
	for _, pod := range pods {
		pod["metadata"].(map[string]any)["ownerReferences"] = ownedBy(main)
		if err := r.create(ctx, kube.PodsPath(r.kube.Spec.Namespace), pod, new(corev1.Pod)); err != nil {
			return err
		}
	}
	return nil
}

func ownedBy(main *batchv1.Job) []any {
	return []any{map[string]any{"apiVersion": main.APIVersion, "kind": main.Kind, "name": main.Name, "uid": string(main.UID)}}
}

// create posts an object. At a conflict an earlier request succeeded: the name is unique.
func (r *kubeRun) create(ctx context.Context, path string, in map[string]any, out any) error {
	err := r.kube.Client.Create(ctx, path, in, out, false)
	name, _ := in["metadata"].(map[string]any)["name"].(string)
	if kube.IsConflict(err) {
		err = r.kube.Client.Get(ctx, path+"/"+name, out)
	}
	switch {
	case kube.IsRefused(err):
		return fmt.Errorf("create %s %s: refused by the API server: %w", in["kind"], name, err)
	case err != nil:
		return fmt.Errorf("create %s %s: %w", in["kind"], name, err)
	}
	return nil
}

// Times of clean.
const (
	cleanTimeout = time.Minute
	// Ended pods are gone at once, others after they end: polls start at firstPoll
	// and double up to lastPoll.
	firstPoll = 30 * time.Millisecond
	lastPoll  = time.Second
	// forceAfter is when pods are deleted without waiting for their node.
	forceAfter = 20 * time.Second
)

// clean deletes the objects and waits for the end of the pods, in a time of its own.
func (r *kubeRun) clean() error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	c, ns := r.kube.Client, r.kube.Spec.Namespace
	asIs := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	err := errors.Join(
		c.Delete(ctx, kube.JobsPath(r.kube.Spec.Namespace)+"/"+r.name, asIs),
		c.Delete(ctx, kube.ServicesPath(ns)+"/"+r.name, asIs))
	asked := map[string]bool{}
	begun, poll := time.Now(), firstPoll
	for {
		pods, _, listErr := kube.ListAll[corev1.Pod](ctx, c, kube.PodsPath(ns), r.selector())
		if listErr == nil && len(pods) == 0 && err == nil {
			return nil
		}
		force := time.Since(begun) > forceAfter
		for _, p := range pods {
			name := p.Name
			switch {
			case force:
				listErr = errors.Join(listErr, c.Delete(ctx, kube.PodPath(ns, name), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
			case !asked[name]:
				asked[name] = true
				listErr = errors.Join(listErr, c.Delete(ctx, kube.PodPath(ns, name), asIs))
			}
		}
		if err != nil || ctx.Err() != nil {
			return fmt.Errorf("job %s/%s may be left behind (kubectl delete job,pod,service -n %s -l %s): %w", ns, r.name,
				ns, r.selector().LabelSelector, errors.Join(err, listErr, ctx.Err()))
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
		}
		poll = min(2*poll, lastPoll)
	}
}

// sharedLog is a log of several goroutines. Write errors must not fail the measurement.
type sharedLog struct {
	mu sync.Mutex
	to io.Writer
}

func (l *sharedLog) line(who, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintf(l.to, "[%s] %s\n", who, text)
}

// note writes a line of knee's own, with the time.
func (l *sharedLog) note(format string, args ...any) {
	l.line("knee", time.Now().UTC().Format("15:04:05.000")+" "+fmt.Sprintf(format, args...))
}
