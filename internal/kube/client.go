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

// Client is a client of one API server. It is safe for concurrent use.
type Client struct {
	Server    string // https://host:port, for messages
	Context   string // name of the kubeconfig's context; empty inside a pod
	Namespace string // of the context; "default" if it has none

	rest *rest.RESTClient
}

// requestTimeout limits requests except watches and logs: a server may not
// answer.
const requestTimeout = 30 * time.Second

// backoff repeats a request with pauses that double from 200 ms to 3.2 s, longer
// in all than a restart of the API server (3 to 10 s).
func backoff() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Steps: 8, Cap: 3200 * time.Millisecond}
}

// Get reads the object at path into out.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.call(ctx, c.rest.Get().AbsPath(path), nil, out)
}

// Create creates an object in the collection at path, and reads the result into
// out unless it is nil. The server refuses unknown and duplicate fields. With dryRun
// it checks the object and creates nothing.
func (c *Client) Create(ctx context.Context, path string, in, out any, dryRun bool) error {
	r := c.rest.Post().AbsPath(path).Param("fieldValidation", "Strict")
	if dryRun {
		r.Param("dryRun", "All")
	}
	return c.call(ctx, r, in, out)
}

// Update replaces the object at path, without a check whether another program has
// changed it: use it for objects that only knee writes.
func (c *Client) Update(ctx context.Context, path string, in, out any) error {
	return c.call(ctx, c.rest.Put().AbsPath(path), in, out)
}

// DeleteOptions are the options of a deletion.
type DeleteOptions struct {
	// Propagation is Foreground (the object stays until the objects it owns are
	// deleted), Background or Orphan; empty: the server's default.
	Propagation string
	// Grace is the time that pods have to end; negative: as in their spec; 0: they
	// are removed at once, without waiting for their node.
	Grace time.Duration
}

// Delete removes the object at path. It is no error if the object does not exist.
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

// Selector selects objects of a collection, all if it is empty.
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

// ListAll reads all pages of a collection. The string is the resource version
// from which a watch can continue.
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

// LogOptions selects a part of a container's output.
type LogOptions struct {
	Container string
	Follow    bool      // until the container ends
	Since     time.Time // rounded down to seconds; zero: the beginning
}

// Logs returns the output of a container. Each line begins with the time, in RFC
// 3339, at which its node read it, and a space.
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
	resp, err := c.rest.Client.Do(req) // r.Stream would drop the server's error message
	if err != nil {
		return nil, c.explain(err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // a partial message will do
	return nil, withBody(apierrors.NewGenericServerResponse(resp.StatusCode, "get", schema.GroupResource{Resource: "pods/log"}, pod, string(answer), 0, true), answer)
}

// call sends a request, repeats it on temporary errors, and reads out unless nil.
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
		if IsTemporary(last) && !(hasCode(last, http.StatusUnauthorized) && tries > 2) { // a rejected credential is tried three times
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

func corePath(namespace, kind string) string {
	if namespace == "" {
		return "/api/v1/" + kind
	}
	return "/api/v1/namespaces/" + namespace + "/" + kind
}
