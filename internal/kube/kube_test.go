package kube_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"knee/internal/kube"
)

// server is an API server of a few lines, over TLS.
func server(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// kubeconfig writes a kubeconfig for a server and returns its path. user is
// the user section on one line.
func kubeconfig(t *testing.T, s *httptest.Server, user string) string {
	t.Helper()
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	write(t, filepath.Join(dir, "ca.crt"), string(ca))
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: main
clusters: [{name: c, cluster: {server: "%s", certificate-authority: ca.crt}}]
users: [{name: u, user: {%s}}]
contexts: [{name: main, context: {cluster: c, user: u, namespace: team}}]
`, s.URL, user)
	path := filepath.Join(dir, "config")
	write(t, path, text)
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, path string) *kube.Client {
	t.Helper()
	c, err := kube.Load(kube.Settings{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func status(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Status","code":%d,"reason":%q,"message":%q}`, code, reason, message)
}

func TestCredentials(t *testing.T) {
	var want string
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != want {
			status(w, 401, "Unauthorized", "got "+got)
			return
		}
		fmt.Fprint(w, `{"metadata":{"name":"x"}}`)
	})
	dir := t.TempDir()
	write(t, filepath.Join(dir, "token"), "from-file\n")
	calls := filepath.Join(dir, "calls")
	plugin := filepath.Join(dir, "plugin")
	write(t, plugin, `#!/bin/sh
echo "$1 $EXTRA" >>`+calls+`
n=$(grep -c . `+calls+`)
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"call-'$n'"}}'
`)
	for _, tc := range []struct{ name, user, want string }{
		{"none", "", ""},
		{"token", "token: secret", "Bearer secret"},
		{"token file", "tokenFile: " + filepath.Join(dir, "token"), "Bearer from-file"},
		{"plugin", "exec: {apiVersion: client.authentication.k8s.io/v1, command: " + plugin + ", interactiveMode: Never, args: [get], env: [{name: EXTRA, value: 'on'}]}", "Bearer call-1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want = tc.want
			c := load(t, kubeconfig(t, s, tc.user))
			for range 2 {
				var o kube.Object
				if err := c.Get(t.Context(), kube.NodesPath()+"/x", &o); err != nil || o.Name != "x" {
					t.Errorf("%+v, %v", o, err)
				}
			}
		})
	}
	if text, _ := os.ReadFile(calls); string(text) != "get on\n" {
		t.Errorf("the plugin was called %q, want once, with its argument and variable", text)
	}
	// A refused token is asked for anew.
	want = "Bearer call-3"
	c := load(t, kubeconfig(t, s, "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: "+plugin+"}"))
	if err := c.Get(t.Context(), kube.NodesPath()+"/x", new(kube.Object)); err != nil {
		t.Errorf("a plugin whose first token is refused: %v", err)
	}
}

func TestRequestsAreTriedAgain(t *testing.T) {
	var mu sync.Mutex
	n := 0
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n < 3 {
			status(w, 503, "ServiceUnavailable", "starting")
			return
		}
		fmt.Fprint(w, `{"metadata":{"name":"x"}}`)
	})
	c := load(t, kubeconfig(t, s, "token: a"))
	if err := c.Get(t.Context(), kube.NodesPath()+"/x", new(kube.Object)); err != nil || n != 3 {
		t.Errorf("%v after %d requests, want success with the third", err, n)
	}
}

func TestErrorsCarryTheServersWords(t *testing.T) {
	calls := 0
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		if r.URL.Query().Get("fieldValidation") != "Strict" || r.URL.Query().Get("dryRun") != "All" {
			t.Errorf("query %q, want strict validation and a dry run", r.URL.RawQuery)
		}
		status(w, 422, "Invalid", `Job "x" is invalid: spec.completions: Required`)
	})
	err := load(t, kubeconfig(t, s, "")).Create(t.Context(), kube.JobsPath("d"), map[string]any{}, nil, true)
	if !kube.IsRefused(err) || !strings.Contains(err.Error(), `Job "x" is invalid: spec.completions: Required`) {
		t.Errorf("err = %#v", err)
	}
	if calls != 1 {
		t.Errorf("%d requests, want 1: what is refused stays refused", calls)
	}
}

func TestListReadsAllPages(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("labelSelector"); got != "a=b" {
			t.Errorf("selector %q", got)
		}
		if r.URL.Query().Get("continue") == "" {
			fmt.Fprint(w, `{"metadata":{"resourceVersion":"7","continue":"next"},"items":[{"metadata":{"name":"p0"}}]}`)
			return
		}
		fmt.Fprint(w, `{"metadata":{"resourceVersion":"8"},"items":[{"metadata":{"name":"p1"}}]}`)
	})
	pods, version, err := kube.ListAll[corev1.Pod](t.Context(), load(t, kubeconfig(t, s, "")), kube.PodsPath("d"), metav1.ListOptions{LabelSelector: "a=b"})
	if err != nil || len(pods) != 2 || pods[1].Name != "p1" || version != "8" {
		t.Errorf("%v, version %q, %v", pods, version, err)
	}
}

// feed is an API server whose pods and watches a test writes.
type feed struct {
	mu      sync.Mutex
	lists   []string // answers to lists, the last for ever
	watches []string // the lines of each watch, after which it ends; the last stays open
	asked   []string // resource versions that watches began from
}

func (f *feed) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	if r.URL.Query().Get("watch") == "" {
		text := f.lists[0]
		if len(f.lists) > 1 {
			f.lists = f.lists[1:]
		}
		f.mu.Unlock()
		if text == "" {
			status(w, 503, "", "down")
			return
		}
		fmt.Fprint(w, text)
		return
	}
	f.asked = append(f.asked, r.URL.Query().Get("resourceVersion"))
	if len(f.watches) == 0 {
		f.mu.Unlock()
		<-r.Context().Done()
		return
	}
	text := f.watches[0]
	f.watches = f.watches[1:]
	f.mu.Unlock()
	if text == "410" {
		status(w, 410, "Expired", "too old resource version")
		return
	}
	io.WriteString(w, text)
}

func podJSON(name, uid, version string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"d","name":%q,"uid":%q,"resourceVersion":%q}}`, name, uid, version)
}

func listJSON(version string, pods ...string) string {
	return fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"items":[%s]}`, version, strings.Join(pods, ","))
}

func eventJSON(kind, object string) string {
	return fmt.Sprintf("{\"type\":%q,\"object\":%s}\n", kind, object)
}

// TestFollow plays the edges of the watch protocol: a watch that ends is
// continued from the last version, bookmarks count, an expired version leads
// to a new list whose difference is told, and so does an ERROR event.
func TestFollow(t *testing.T) {
	f := &feed{
		lists: []string{
			listJSON("10", podJSON("a", "1", "9"), podJSON("b", "1", "10")),
			listJSON("20", podJSON("a", "2", "19"), podJSON("c", "1", "20")), // a was replaced, b is gone
			listJSON("30", podJSON("c", "1", "20")),                          // a is gone, c the same
		},
		watches: []string{
			eventJSON("MODIFIED", podJSON("b", "1", "11")) + eventJSON("BOOKMARK", podJSON("", "", "12")),
			"410",
			eventJSON("ERROR", `{"apiVersion":"v1","kind":"Status","status":"Failure","code":410,"reason":"Expired","message":"too old"}`),
			eventJSON("DELETED", podJSON("c", "1", "31")) + eventJSON("ADDED", podJSON("end", "1", "32")),
		},
	}
	s := server(t, f.serve)
	var got []string
	end := errors.New("end")
	err := kube.Follow[corev1.Pod](t.Context(), load(t, kubeconfig(t, s, "")), kube.Watch{Path: kube.PodsPath("d")},
		func(c kube.Change[corev1.Pod]) error {
			what := "+"
			if c.Deleted {
				what = "-"
			}
			got = append(got, what+c.Object.Name+string(c.Object.UID))
			if c.Object.Name == "end" {
				return end
			}
			return nil
		})
	if err != end {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"+a1", "+b1", "+b1", "-b1", "-a1", "+a2", "+c1", "-a2", "-c1", "+end1"}, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	f.mu.Lock() // a fifth watch may begin while the last change is told
	defer f.mu.Unlock()
	if diff := cmp.Diff([]string{"10", "12", "20", "30"}, f.asked[:min(4, len(f.asked))]); diff != "" {
		t.Errorf("versions the watches began from (-want +got):\n%s", diff)
	}
}

func TestFollowGivesUp(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		status(w, 403, "Forbidden", "pods is forbidden: User \"u\" cannot list")
	})
	c := load(t, kubeconfig(t, s, ""))
	err := kube.Follow[corev1.Pod](t.Context(), c, kube.Watch{Path: kube.PodsPath("d")}, nil)
	if err == nil || !strings.Contains(err.Error(), "cannot list") {
		t.Errorf("err = %v, want the refusal at once", err)
	}
	gone := server(t, func(w http.ResponseWriter, r *http.Request) {})
	c = load(t, kubeconfig(t, gone, ""))
	gone.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := kube.Follow[corev1.Pod](ctx, c, kube.Watch{Path: kube.PodsPath("d")}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v, want that of the context", err)
	}
}

// A server that goes away is told of, and given up after the outage timeout.
func TestFollowOutage(t *testing.T) {
	f := &feed{lists: []string{listJSON("10", podJSON("a", "1", "9"))}}
	s := server(t, f.serve)
	downs := 0
	w := kube.Watch{Path: kube.PodsPath("d"), OutageTimeout: time.Second, Down: func(error) { downs++ }}
	err := kube.Follow(t.Context(), load(t, kubeconfig(t, s, "")), w, func(kube.Change[corev1.Pod]) error {
		go func() {
			time.Sleep(100 * time.Millisecond) // the watch is open
			s.Listener.Close()
			s.CloseClientConnections()
		}()
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "no contact for") || downs == 0 {
		t.Errorf("err = %v, told of %d times; want the outage, told before", err, downs)
	}
}

// The time that a watch was open is no outage: it may be longer than the timeout.
func TestFollowOutageAfterLongWatch(t *testing.T) {
	watches := 0
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "true" {
			fmt.Fprint(w, listJSON("10"))
			return
		}
		switch watches++; watches {
		case 1:
			w.(http.Flusher).Flush() // the watch is open
			time.Sleep(time.Second)
		case 2:
			status(w, 503, "ServiceUnavailable", "shutting down")
		default:
			fmt.Fprint(w, eventJSON("ADDED", podJSON("a", "1", "11")))
		}
	})
	seen := errors.New("seen")
	w := kube.Watch{Path: kube.PodsPath("d"), OutageTimeout: time.Second / 2}
	if err := kube.Follow(t.Context(), load(t, kubeconfig(t, s, "")), w, func(kube.Change[corev1.Pod]) error { return seen }); err != seen {
		t.Errorf("err = %v, want the pod that came after the outage", err)
	}
}

func TestLogs(t *testing.T) {
	since := time.Date(2026, 3, 1, 12, 0, 0, 900e6, time.UTC)
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		want := "container=main&follow=true&sinceTime=2026-03-01T12%3A00%3A00Z&timestamps=true"
		if r.URL.Path != "/api/v1/namespaces/d/pods/p/log" || r.URL.RawQuery != want {
			t.Errorf("GET %s?%s, want …?%s", r.URL.Path, r.URL.RawQuery, want)
		}
		fmt.Fprint(w, "2026-03-01T12:00:00.5Z hello\n")
	})
	body, err := load(t, kubeconfig(t, s, "")).Logs(t.Context(), "d", "p", corev1.PodLogOptions{Container: "main", Follow: true, SinceTime: new(metav1.NewTime(since))})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if text, _ := io.ReadAll(body); string(text) != "2026-03-01T12:00:00.5Z hello\n" {
		t.Errorf("%q", text)
	}
}

func TestDelete(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		var got map[string]any
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		want := map[string]any{"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground", "gracePeriodSeconds": 5.0}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		status(w, 404, "NotFound", "gone")
	})
	err := load(t, kubeconfig(t, s, "")).Delete(t.Context(), kube.PodPath("d", "p"), metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground), GracePeriodSeconds: new(int64(5))})
	if err != nil {
		t.Errorf("deleting what is gone: %v", err)
	}
}
