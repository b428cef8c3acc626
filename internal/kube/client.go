package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc" // auth-provider: oidc
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"knee/data"
)

// Client is a client of one API server. It is safe for concurrent use.
type Client struct {
	Server    string // https://host:port, for messages
	Context   string // name of the kubeconfig's context; empty inside a pod
	Namespace string // of the context; "default" if it has none

	rest *rest.RESTClient
}

// requestTimeout limits requests except watches and logs.
const requestTimeout = 30 * time.Second

// Get reads the object at path into out.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.call(ctx, c.rest.Get().AbsPath(path), nil, out)
}

// Create creates an object in the collection at path, and reads the result into out unless
// nil. The server refuses unknown and duplicate fields. With dryRun it creates nothing.
func (c *Client) Create(ctx context.Context, path string, in, out any, dryRun bool) error {
	r := c.rest.Post().AbsPath(path).Param("fieldValidation", "Strict")
	if dryRun {
		r.Param("dryRun", "All")
	}
	return c.call(ctx, r.SetHeader("Content-Type", "application/json"), in, out)
}

// Update replaces an object that only knee writes, whoever changed it.
func (c *Client) Update(ctx context.Context, path string, in, out any) error {
	return c.call(ctx, c.rest.Put().AbsPath(path).SetHeader("Content-Type", "application/json"), in, out)
}

// Delete removes the object at path. It is no error if the object does not exist.
func (c *Client) Delete(ctx context.Context, path string, o metav1.DeleteOptions) error {
	o.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	err := c.call(ctx, c.rest.Delete().AbsPath(path).SetHeader("Content-Type", "application/json"), o, nil)
	if IsNotFound(err) {
		return nil
	}
	return err
}

func with(r *rest.Request, options any) *rest.Request {
	values, _ := queryparams.Convert(options) // of pointers to structs it cannot fail
	for name, all := range values {
		for _, v := range all {
			r.Param(name, v)
		}
	}
	return r
}

// ListAll reads all pages of a collection, and the version for a watch to continue from.
func ListAll[T any](ctx context.Context, c *Client, path string, o metav1.ListOptions) ([]T, string, error) {
	var items []T
	for o.Limit = 500; ; {
		var page List[T]
		if err := c.call(ctx, with(c.rest.Get().AbsPath(path), &o), nil, &page); err != nil {
			return nil, "", err
		}
		items = append(items, page.Items...)
		if o.Continue = page.Metadata.Continue; o.Continue == "" {
			return items, page.Metadata.ResourceVersion, nil
		}
	}
}

// Logs returns a container's output, each line behind its node's time, RFC 3339.
func (c *Client) Logs(ctx context.Context, namespace, pod string, o corev1.PodLogOptions) (io.ReadCloser, error) {
	o.Timestamps = true
	r := with(c.rest.Get().AbsPath(PodPath(namespace, pod)+"/log"), &o)
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
		r.Body(body)
	}
	r.MaxRetries(0).Timeout(requestTimeout)
	var answer []byte
	var last error
	tries := 0
	pauses := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Steps: 6} // 6.2 s in all
	err := wait.ExponentialBackoffWithContext(ctx, pauses, func(ctx context.Context) (bool, error) {
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

// Path is a collection of a version ("v1", "batch/v1"), in all namespaces if it is empty.
func Path(version, namespace, resource string) string {
	base := "/apis/" + version
	if version == "v1" {
		base = "/api/v1"
	}
	if namespace != "" {
		base += "/namespaces/" + namespace
	}
	return base + "/" + resource
}

// PodsPath is the collection of pods of a namespace; PodPath is one of them.
func PodsPath(namespace string) string      { return Path("v1", namespace, "pods") }
func PodPath(namespace, name string) string { return PodsPath(namespace) + "/" + name }

// ServicesPath, JobsPath and NodesPath are the other collections.
func ServicesPath(namespace string) string { return Path("v1", namespace, "services") }
func JobsPath(namespace string) string     { return Path("batch/v1", namespace, "jobs") }
func NodesPath() string                    { return Path("v1", "", "nodes") }

// Patch merges fields into an object (RFC 7396: null removes a field, a list replaces a
// list), and reads the result into out unless nil. With metadata.resourceVersion in fields,
// the error is a conflict if the object was changed since.
func (c *Client) Patch(ctx context.Context, path string, fields map[string]any, out any) error {
	return c.call(ctx, c.rest.Patch(types.MergePatchType).AbsPath(path).Param("fieldValidation", "Strict"), fields, out)
}

// Object is anything that has metadata.
type Object = metav1.PartialObjectMetadata

// List is one page of a collection.
type List[T any] struct {
	Metadata metav1.ListMeta `json:"metadata"`
	Items    []T             `json:"items"`
}

// IsNotFound reports whether err means that the object does not exist.
func IsNotFound(err error) bool { return hasCode(err, http.StatusNotFound) }

// IsConflict reports that an object of the name exists, or was changed by another.
func IsConflict(err error) bool { return hasCode(err, http.StatusConflict) }

// IsBadRequest reports a 400, also for the log of a container that has not started.
func IsBadRequest(err error) bool { return hasCode(err, http.StatusBadRequest) }

func hasCode(err error, code int) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && int(status.Status().Code) == code
}

// IsRefused reports whether the server would refuse the request again.
func IsRefused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !IsTemporary(err)
}

// IsTemporary reports whether to repeat: no server, or one that starts or is overloaded.
func IsTemporary(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err != nil && !strings.Contains(err.Error(), "exec: executable ") // a plugin that is not installed
	}
	switch s := status.Status(); s.Code {
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusUnauthorized:
		// 401: a starting server may not know its tokens; a credential plugin is called again.
		return true
	case http.StatusForbidden:
		// A starting server does not find roles until its caches are filled.
		return strings.Contains(s.Message, "RBAC: ") && strings.Contains(s.Message, "not found") || strings.Contains(s.Message, "not yet ready")
	default:
		return s.Code >= 500
	}
}

// explain adds the server, unless err is its answer.
func (c *Client) explain(err error) error {
	var status apierrors.APIStatus
	if err == nil || errors.As(err, &status) {
		return err
	}
	return fmt.Errorf("reach the API server %s: %w", c.Server, err)
}

// withBody returns the error in the body of an answer, which says more.
func withBody(err error, body []byte) error {
	var s metav1.Status
	if err == nil || json.Unmarshal(body, &s) != nil || s.Message == "" || s.Code == 0 {
		return err
	}
	return &apierrors.StatusError{ErrStatus: s}
}

// Settings selects a cluster. The zero value selects that of kubectl.
type Settings struct {
	Kubeconfig string // file; empty for those of KUBECONFIG, else ~/.kube/config, else the pod's service account
	Context    string // context of the kubeconfig; empty for the current one
}

// Load finds server and credentials, without contact. Errors are [data.InputError].
func Load(s Settings) (*Client, error) {
	quiet()
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.WarnIfAllMissing = s.Kubeconfig, false
	files := cmp.Or(s.Kubeconfig, strings.Join(rules.Precedence, ", "))
	found := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: s.Context})
	raw, _ := found.RawConfig() // ClientConfig returns the same error
	if names := slices.Sorted(maps.Keys(raw.Contexts)); s.Context != "" && !slices.Contains(names, s.Context) && len(names) > 0 {
		return nil, &data.InputError{Source: data.Source{File: files, Column: s.Context}, Found: "no such context", Want: "one of " + strings.Join(names, ", ")}
	}
	config, err := found.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, &data.InputError{Source: data.Source{File: files}, Found: "no cluster", Want: "a kubeconfig there or in KUBECONFIG, or to run in a pod with a service account"}
	}
	var client *rest.RESTClient
	if err == nil {
		config = dynamic.ConfigFor(config) // for JSON of any kind
		config.UserAgent, config.APIPath = "knee", "/"
		config.QPS = -1 // no limit: knee makes few requests, but several at once
		client, err = rest.UnversionedRESTClientFor(config)
	}
	if err != nil {
		return nil, &data.InputError{Source: data.Source{File: files, Column: s.Context}, Found: err.Error(), Want: "a kubeconfig that kubectl can use"}
	}
	c := &Client{Server: config.Host, rest: client}
	if c.Namespace, _, err = found.Namespace(); err != nil {
		return nil, &data.InputError{Source: data.Source{File: files}, Found: err.Error(), Want: "a namespace"}
	}
	c.Context = cmp.Or(s.Context, raw.CurrentContext)
	return c, nil
}

// quiet keeps client-go from writing to standard error: errors are returned.
var quiet = sync.OnceFunc(func() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) })
