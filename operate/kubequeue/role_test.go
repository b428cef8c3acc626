package kubequeue_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"knee/data"
	"knee/internal/kube"
	"knee/operate/kubequeue"
)

// TestRole compares the requests to an API server with the roles of the manifest:
// they allow exactly these.
func TestRole(t *testing.T) {
	asked := map[string]bool{}
	suspended := true
	const template = `{"spec":{"containers":[{"name":"w","resources":{"limits":{"nvidia.com/gpu":"2"}}}]}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		group, rest := "", parts[2:]
		if parts[0] == "apis" {
			group, rest = parts[1], parts[3:]
		}
		namespaced := rest[0] == "namespaces"
		if namespaced {
			rest = rest[2:]
		}
		verb, resource := map[string]string{"GET": "get", "PATCH": "patch"}[r.Method], rest[0]
		switch {
		case len(rest) == 1:
			verb = "list"
		case len(rest) == 3:
			resource += "/" + rest[2]
		}
		asked[map[bool]string{true: "Role", false: "ClusterRole"}[namespaced]+" "+group+" "+resource+" "+verb] = true
		kinds := map[string]string{"pytorchjobs": `"pytorchReplicaSpecs":{"Worker":{"replicas":1,"template":` + template + `}},"runPolicy":{"suspend":%}`, "jobs": `"parallelism":1,"suspend":%,"template":` + template,
			"trainjobs": `"suspend":%,"trainer":{"numNodes":1,"resourcesPerNode":{"limits":{"nvidia.com/gpu":"2"}}}`,
			"rayjobs":   `"suspend":%,"rayClusterSpec":{"workerGroupSpecs":[{"replicas":1,"template":` + template + `}]}`}
		answer := `{"kind":"List","items":[]}`
		switch {
		case resource == "nodes":
			answer = `{"items":[{"metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"8","nvidia.com/gpu":"4"}}}]}`
		case resource == "pods":
			answer = `{"items":[{"metadata":{"name":"p","namespace":"training","uid":"p","ownerReferences":[{"uid":"pytorchjobs"}]},"spec":{"nodeName":"n1","containers":[{"name":"w"}]},"status":{"phase":"Running"}}]}`
		case kinds[resource] != "":
			answer = `{"metadata":{"name":"` + resource + `","namespace":"training","uid":"` + resource + `","annotations":{"knee/requested":"1"},"labels":{` + map[string]string{"trainjobs": `"kueue.x-k8s.io/queue-name":"q"`}[resource] + `}},"spec":{` +
				strings.ReplaceAll(kinds[resource], "%", map[bool]string{true: "true", false: "false"}[suspended]) + `}}`
			if verb == "list" {
				answer = `{"items":[` + answer + `]}`
			}
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	config := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: t\nclusters: [{name: t, cluster: {server: \"" + server.URL + "\"}}]\nusers: [{name: t, user: {token: t}}]\ncontexts: [{name: t, context: {cluster: t, user: t}}]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := kube.Load(kube.Settings{Kubeconfig: config})
	if err != nil {
		t.Fatal(err)
	}
	q := kubequeue.New(client, []string{"training"}, nil)
	snap, err := q.Read(t.Context())
	if err != nil || len(snap.Jobs) != 4 {
		t.Fatalf("%v: %+v", err, snap)
	}
	for _, j := range snap.Jobs {
		if r, err := q.Log(t.Context(), j, "", time.Time{}); err == nil {
			r.Close()
		}
		if err := q.Hold(t.Context(), j); err != nil {
			t.Error(err)
		}
		if err := q.Start(t.Context(), j, []data.NodeShare{{Node: "n1", Workers: 2}}); err != nil {
			t.Error(err)
		}
		q.Ended(t.Context(), j)
	}
	if diff := cmp.Diff(rolesOf(t, "../../examples/operate/kubernetes.yaml"), slices.Sorted(maps.Keys(asked))); diff != "" {
		t.Errorf("the roles of the manifest and what is asked (-roles +asked):\n%s", diff)
	}
}

// rolesOf lists what the roles of a manifest allow.
func rolesOf(t *testing.T, file string) []string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for dec := yaml.NewDecoder(f); ; {
		var any map[string]any
		if err := dec.Decode(&any); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		var o struct {
			Kind  string
			Rules []struct{ APIGroups, Resources, Verbs []string }
		}
		if text, err := json.Marshal(any); err != nil || json.Unmarshal(text, &o) != nil {
			t.Fatalf("%v: %v", err, any)
		}
		for _, r := range o.Rules {
			for _, g := range r.APIGroups {
				for _, res := range r.Resources {
					for _, v := range r.Verbs {
						out = append(out, o.Kind+" "+g+" "+res+" "+v)
					}
				}
			}
		}
	}
	slices.Sort(out)
	return out
}
