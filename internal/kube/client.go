package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Client speaks to one API server. It is safe for use by many goroutines.
type Client struct {
	Server    string // https://host:port, for messages
	Context   string // name of the kubeconfig's context; empty inside a pod
	Namespace string // that of the context, "default" if it names none

	base    *url.URL
	http    *http.Client
	auth    authorizer // may be nil
	retries int        // of a request that met a temporary error
	pause   time.Duration
}

// requestTimeout bounds a request that is not a watch or a log: a server
// that has accepted a connection and does not answer is as good as gone.
const requestTimeout = 30 * time.Second

// Defaults of retrying: with pauses that double from 200 ms to 3.2 s, a
// request outlives a restart of the API server (3 to 10 s).
const (
	defaultRetries = 7
	firstPause     = 200 * time.Millisecond
	longestPause   = 3200 * time.Millisecond
)

// Get reads the object at path into out.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.call(ctx, http.MethodGet, path, nil, nil, out)
}

// Create posts an object to the collection at path, reading the created one
// into out unless it is nil. The server checks fields strictly: an unknown
// or doubled one is refused. With dryRun it judges and keeps nothing.
func (c *Client) Create(ctx context.Context, path string, in, out any, dryRun bool) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("write the object for %s: %w", path, err)
	}
	query := url.Values{"fieldValidation": {"Strict"}}
	if dryRun {
		query.Set("dryRun", "All")
	}
	return c.call(ctx, http.MethodPost, path, query, body, out)
}

// Update puts an object in place of the one at path. It is used for objects
// that this program alone writes.
func (c *Client) Update(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("write the object for %s: %w", path, err)
	}
	return c.call(ctx, http.MethodPut, path, nil, body, out)
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
	body, err := json.Marshal(opts)
	if err != nil {
		return err
	}
	err = c.call(ctx, http.MethodDelete, path, nil, body, nil)
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

func (s Selector) set(q url.Values) url.Values {
	if s.Labels != "" {
		q.Set("labelSelector", s.Labels)
	}
	if s.Fields != "" {
		q.Set("fieldSelector", s.Fields)
	}
	return q
}

// ListAll reads a collection whole, page by page. The string is the resource
// version that a watch continues from.
func ListAll[T any](ctx context.Context, c *Client, path string, s Selector) ([]T, string, error) {
	var items []T
	query := s.set(url.Values{"limit": {"500"}})
	for {
		var page List[T]
		if err := c.call(ctx, http.MethodGet, path, query, nil, &page); err != nil {
			return nil, "", err
		}
		items = append(items, page.Items...)
		if page.Metadata.Continue == "" {
			return items, page.Metadata.ResourceVersion, nil
		}
		query.Set("continue", page.Metadata.Continue)
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
	query := url.Values{"timestamps": {"true"}}
	if o.Container != "" {
		query.Set("container", o.Container)
	}
	if o.Follow {
		query.Set("follow", "true")
	}
	if !o.Since.IsZero() {
		query.Set("sinceTime", o.Since.UTC().Truncate(time.Second).Format(time.RFC3339))
	}
	resp, err := c.send(ctx, http.MethodGet, PodPath(namespace, pod)+"/log", query, nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// call sends a request, again on temporary errors, and reads the answer.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body []byte, out any) error {
	wait := c.pause
	for attempt := 0; ; attempt++ {
		err := c.once(ctx, method, path, query, body, out)
		limit := c.retries
		if hasCode(err, http.StatusUnauthorized) {
			limit = min(limit, 2) // a wrong password does not become right
		}
		if err == nil || !IsTemporary(err) || attempt >= limit || ctx.Err() != nil {
			return err
		}
		var refused *StatusError
		if errors.As(err, &refused) && refused.RetryAfter > wait {
			wait = min(refused.RetryAfter, requestTimeout)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
		wait = min(2*wait, longestPause)
	}
}

// once sends a request once and reads the answer into out.
func (c *Client) once(ctx context.Context, method, path string, query url.Values, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		_, err := io.Copy(io.Discard, resp.Body)
		return err
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("%s %s: read the answer of the API server: %w", method, path, err)
	}
	return nil
}

// send sends a request and returns a successful answer, its body to be
// closed.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	u := *c.base
	u.Path += path
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("Accept", "application/json, */*")
	req.Header.Set("User-Agent", "knee")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.auth != nil {
		if err := c.auth.authorize(ctx, req); err != nil {
			return nil, err
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reach the API server %s: %w", c.Server, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		err := statusError(resp)
		if resp.StatusCode == http.StatusUnauthorized && c.auth != nil {
			c.auth.refused()
		}
		return nil, err
	}
	return resp, nil
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

// watchTimeout is how long the server is asked to keep one watch open. The
// client then opens the next; a connection that died unseen costs no more.
const watchTimeout = 5 * time.Minute

func watchQuery(s Selector, version string) url.Values {
	return s.set(url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {version},
		"timeoutSeconds": {strconv.Itoa(int(watchTimeout / time.Second))}})
}
