package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// Client speaks to one API server. It is safe for use by many goroutines.
type Client struct {
	Server    string // https://host:port, for messages
	Context   string // name of the kubeconfig's context; empty inside a pod
	Namespace string // that of the context, "default" if it names none

	rest *rest.RESTClient
}

// requestTimeout bounds a request that is not a watch or a log: a server
// that has accepted a connection and does not answer is as good as gone.
const requestTimeout = 30 * time.Second

// backoff is how a request is repeated: with pauses that double from 200 ms to
// 3.2 s it outlives a restart of the API server (3 to 10 s).
func backoff() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Steps: 8, Cap: 3200 * time.Millisecond}
}

// Get reads the object at path into out.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.call(ctx, c.rest.Get().AbsPath(path), nil, out)
}

// Create posts an object to the collection at path, reading the created one
// into out unless it is nil. The server checks fields strictly: an unknown
// or doubled one is refused. With dryRun it judges and keeps nothing.
func (c *Client) Create(ctx context.Context, path string, in, out any, dryRun bool) error {
	r := c.rest.Post().AbsPath(path).Param("fieldValidation", "Strict")
	if dryRun {
		r.Param("dryRun", "All")
	}
	return c.call(ctx, r, in, out)
}

// Update puts an object in place of the one at path. It is used for objects
// that this program alone writes.
func (c *Client) Update(ctx context.Context, path string, in, out any) error {
	return c.call(ctx, c.rest.Put().AbsPath(path), in, out)
}

// DeleteOptions says how an object goes.
type DeleteOptions struct {
	// Propagation is Foreground (the object stays until what it owns is
	// gone), Background or Orphan; empty leaves it to the server.
	Propagation string
	// Grace is the time pods are given to end; negative leaves it to them,
	// 0 removes them at once without waiting for their node.
	Grace time.Duration
}

// Delete removes the object at path. That it is not there is no error.
func (c *Client) Delete(ctx context.Context, path string, o DeleteOptions) error {
	opts := map[string]any{"apiVersion": "v1", "kind": "DeleteOptions"}
	if o.Propagation != "" {
		opts["propagationPolicy"] = o.Propagation
	}
	if o.Grace >= 0 {
		opts["gracePeriodSeconds"] = int64(o.Grace / time.Second)
	}
	err := c.call(ctx, c.rest.Delete().AbsPath(path), opts, nil)
	if IsNotFound(err) {
		return nil
	}
	return err
}

// Selector narrows a collection. Empty selects everything.
type Selector struct {
	Labels string // such as "app=a,tier!=b"
	Fields string // such as "involvedObject.name=a"
}

func (s Selector) set(r *rest.Request) *rest.Request {
	if s.Labels != "" {
		r.Param("labelSelector", s.Labels)
	}
	if s.Fields != "" {
		r.Param("fieldSelector", s.Fields)
	}
	return r
}

// ListAll reads a collection whole, page by page. The string is the resource
// version that a watch continues from.
func ListAll[T any](ctx context.Context, c *Client, path string, s Selector) ([]T, string, error) {
	var items []T
	more := ""
	for {
		var page List[T]
		r := s.set(c.rest.Get().AbsPath(path)).Param("limit", "500")
		if more != "" {
			r.Param("continue", more)
		}
		if err := c.call(ctx, r, nil, &page); err != nil {
			return nil, "", err
		}
		items = append(items, page.Items...)
		if more = page.Metadata.Continue; more == "" {
			return items, page.Metadata.ResourceVersion, nil
		}
	}
}

// LogOptions says which part of a container's output is wanted.
type LogOptions struct {
	Container string
	Follow    bool      // until the container ends
	Since     time.Time // zero for the beginning; whole seconds count
}

// Logs returns what a container prints, every line preceded by the time at
// which its node read it, in RFC 3339, and a space.
func (c *Client) Logs(ctx context.Context, namespace, pod string, o LogOptions) (io.ReadCloser, error) {
	r := c.rest.Get().AbsPath(PodPath(namespace, pod)+"/log").Param("timestamps", "true")
	if o.Container != "" {
		r.Param("container", o.Container)
	}
	if o.Follow {
		r.Param("follow", "true")
	}
	if !o.Since.IsZero() {
		r.Param("sinceTime", o.Since.UTC().Truncate(time.Second).Format(time.RFC3339))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL().String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.rest.Client.Do(req) // not r.Stream, which drops what the server says against it
	if err != nil {
		return nil, c.explain(err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what arrived says enough
	return nil, withBody(apierrors.NewGenericServerResponse(resp.StatusCode, "get", schema.GroupResource{Resource: "pods/log"}, pod, string(answer), 0, true), answer)
}

// call sends a request, again on temporary errors, and reads the answer into
// out unless it is nil.
func (c *Client) call(ctx context.Context, r *rest.Request, in, out any) error {
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("write the object for %s: %w", r.URL().Path, err)
		}
		r.SetHeader("Content-Type", "application/json").Body(body)
	}
	r.MaxRetries(0).Timeout(requestTimeout)
	var answer []byte
	var last error
	tries := 0
	err := wait.ExponentialBackoffWithContext(ctx, backoff(), func(ctx context.Context) (bool, error) {
		tries++
		answer, last = r.Do(ctx).Raw()
		last = c.explain(withBody(last, answer))
		if IsTemporary(last) && !(hasCode(last, http.StatusUnauthorized) && tries > 2) { // a wrong password does not become right
			return false, nil
		}
		return true, last
	})
	switch {
	case last != nil:
		return last
	case err != nil || out == nil:
		return err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s: read the answer of the API server: %w", r.URL().Path, err)
	}
	return nil
}

// Paths of the collections and objects knee uses.

// PodsPath is the collection of pods of a namespace, of all if it is empty.
func PodsPath(namespace string) string { return corePath(namespace, "pods") }

// PodPath is one pod.
func PodPath(namespace, name string) string { return PodsPath(namespace) + "/" + name }

// ServicesPath is the collection of services of a namespace.
func ServicesPath(namespace string) string { return corePath(namespace, "services") }

// EventsPath is the collection of events of a namespace.
func EventsPath(namespace string) string { return corePath(namespace, "events") }

// NodesPath is the collection of nodes.
func NodesPath() string { return "/api/v1/nodes" }

// JobsPath is the collection of batch/v1 Jobs of a namespace.
func JobsPath(namespace string) string {
	return "/apis/batch/v1/namespaces/" + namespace + "/jobs"
}

// PyTorchJobsPath is the collection of Kubeflow PyTorchJobs of a namespace.
func PyTorchJobsPath(namespace string) string {
	return "/apis/kubeflow.org/v1/namespaces/" + namespace + "/pytorchjobs"
}

func corePath(namespace, kind string) string {
	if namespace == "" {
		return "/api/v1/" + kind
	}
	return "/api/v1/namespaces/" + namespace + "/" + kind
}
