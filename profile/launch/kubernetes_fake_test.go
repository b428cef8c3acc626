package launch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"knee/data"
	"knee/profile/launch"
)

// fakeAPI is an API server that records created objects and serves the pods of
// a test. test/integration/kubernetes tests the objects with a real one.
type fakeAPI struct {
	url    string
	nodes  []string // values of the GPU label
	pods   []string // JSON
	logs   map[string][]string
	refuse string // kind of object to refuse

	mu      sync.Mutex
	created map[string]map[string]any // by kind, the last
	servers []map[string]any          // pods that were created
	deleted []string
	opened  map[string]int // how often the output of a pod was requested
}

func newFakeAPI(t *testing.T) *fakeAPI {
	f := &fakeAPI{created: map[string]map[string]any{}, opened: map[string]int{}, logs: map[string][]string{}}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	f.url = s.URL
	return f
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case r.URL.Query().Get("watch") != "":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case r.Method == http.MethodPost:
		f.create(w, r)
	case r.Method == http.MethodPut:
		fmt.Fprint(w, "{}")
	case r.Method == http.MethodDelete:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.deleted = append(f.deleted, r.URL.Path)
		if strings.Contains(r.URL.Path, "/pods/") {
			f.pods = nil
		}
		fmt.Fprint(w, "{}")
	case last == "log":
		f.log(w, r)
	case last == "pods":
		f.mu.Lock()
		defer f.mu.Unlock()
		fmt.Fprintf(w, `{"metadata":{"resourceVersion":"1"},"items":[%s]}`, strings.Join(f.pods, ","))
	case last == "nodes":
		var items []string
		for i, v := range f.nodes {
			items = append(items, fmt.Sprintf(`{"metadata":{"name":"n%d","labels":{"nvidia.com/gpu.product":%q}}}`, i, v))
		}
		fmt.Fprintf(w, `{"items":[%s]}`, strings.Join(items, ","))
	default:
		fmt.Fprint(w, `{"metadata":{"resourceVersion":"1"},"items":[]}`)
	}
}

func (f *fakeAPI) create(w http.ResponseWriter, r *http.Request) {
	var o map[string]any
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := o["kind"].(string)
	if kind == "Pod" {
		f.servers = append(f.servers, o)
	}
	f.created[kind] = o
	if kind == f.refuse {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","message":"exceeded quota: gpus","reason":"Forbidden","code":403}`)
		return
	}
	o["metadata"].(map[string]any)["uid"] = "u-" + kind
	_ = json.NewEncoder(w).Encode(o)
}

// log answers the requests for one pod's output one after the other, the
// last answer for ever.
func (f *fakeAPI) log(w http.ResponseWriter, r *http.Request) {
	pod := strings.Split(r.URL.Path, "/")[6]
	f.mu.Lock()
	answers := f.logs[pod]
	n := min(f.opened[pod], len(answers)-1)
	f.opened[pod]++
	f.mu.Unlock()
	text := answers[n]
	if text == "403" {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","message":"User \"u\" cannot get resource pods/log","reason":"Forbidden","code":403}`)
		return
	}
	if cut, ok := strings.CutSuffix(text, "✂"); ok {
		fmt.Fprint(w, cut)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler) // the connection breaks
	}
	fmt.Fprint(w, text)
}

// launch runs a trial against the fake.
func (f *fakeAPI) launch(t *testing.T, spec data.KubernetesSpec, trial launch.Trial) ([]launch.Observation, error) {
	t.Helper()
	return f.launchUntil(t.Context(), t, spec, trial)
}

// launchUntil runs a trial against the fake until ctx ends.
func (f *fakeAPI) launchUntil(ctx context.Context, t *testing.T, spec data.KubernetesSpec, trial launch.Trial) ([]launch.Observation, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("current-context: m\ncontexts: [{name: m, context: {cluster: c, namespace: team}}]\nclusters: [{name: c, cluster: {server: %q}}]\n", f.url)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	spec.Kubeconfig = path
	parser, err := launch.NewParser(data.Metrics{})
	if err != nil {
		t.Fatal(err)
	}
	k, err := launch.NewKubernetes(spec, parser)
	if err != nil {
		t.Fatal(err)
	}
	obs := make(chan launch.Observation, 100)
	err = k.Launch(ctx, trial, obs)
	var all []launch.Observation
	for len(obs) > 0 {
		all = append(all, <-obs)
	}
	return all, err
}
