// Package manifests checks the output of knee export with the real API server.
package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"knee/internal/kube"
)

// golden are the folders of the exporters' golden files, one per target.
const golden = "../../../allocate/export/testdata"

// unjudged are the API groups whose definitions no module publishes: their
// manifests are compared with golden files only.
func unjudged() []string { return []string{"batch.volcano.sh", "scheduling.volcano.sh", "ray.io"} }

// TestManifests sends every manifest among the golden files, and among those
// in the folders that KNEE_TEST_MANIFESTS lists, to the API server, which is
// to check it strictly and to keep nothing: unknown and doubled fields,
// missing ones, wrong types and values out of range are refused.
func TestManifests(t *testing.T) {
	dir := os.Getenv("KNEE_TEST_KUBERNETES")
	if dir == "" {
		t.Skip("no Kubernetes engine; test/integration/kubernetes starts one and sets KNEE_TEST_KUBERNETES")
	}
	client, err := kube.Load(kube.Settings{Kubeconfig: filepath.Join(dir, "kubeconfig")})
	if err != nil {
		t.Fatal(err)
	}
	judge := &judge{client: client, plurals: map[string]resource{}}
	accepted := 0
	for _, root := range append(filepath.SplitList(os.Getenv("KNEE_TEST_MANIFESTS")), golden) {
		files, err := filepath.Glob(filepath.Join(root, "*", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			target := filepath.Base(filepath.Dir(file))
			name := target + "/" + filepath.Base(file)
			docs, err := documents(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range docs {
				kind := fmt.Sprint(doc["kind"])
				switch err := judge.dryRun(t, doc); {
				case errors.Is(err, errNotThere):
					t.Logf("not judged  %s: %s: %v", name, kind, err)
				case err != nil:
					t.Errorf("REJECTED    %s: %s: %v", name, kind, err)
				default:
					t.Logf("accepted    %s: %s", name, kind)
					accepted++
				}
			}
		}
	}
	if accepted == 0 {
		t.Error("no manifest was accepted: are there any?")
	}
	judge.mistakes(t)
}

// errNotThere says that the cluster knows no such kind of object.
var errNotThere = errors.New("no module publishes its definition; compared with golden files only")

// documents reads the manifests of a file. Files that are not, such as
// kustomizations, have no kind and are left out.
func documents(file string) ([]map[string]any, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var docs []map[string]any
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc map[string]any
		if err := dec.Decode(&doc); err == io.EOF {
			return docs, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if doc["kind"] != nil && doc["apiVersion"] != nil {
			docs = append(docs, doc)
		}
	}
}

// resource is where objects of a kind live.
type resource struct {
	plural     string
	namespaced bool
}

// judge sends manifests to an API server.
type judge struct {
	client  *kube.Client
	plurals map[string]resource // by apiVersion/kind
}

// dryRun returns why the server would refuse a manifest, nil if it would not.
func (j *judge) dryRun(t *testing.T, doc map[string]any) error {
	version, _ := doc["apiVersion"].(string)
	kind, _ := doc["kind"].(string)
	r, base, err := j.find(t, version, kind)
	if err != nil {
		return err
	}
	if !r.namespaced {
		return j.client.Create(t.Context(), base+"/"+r.plural, doc, nil, true)
	}
	meta, _ := doc["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	if namespace == "" {
		namespace = "default"
	}
	ns := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}
	if err := j.client.Create(t.Context(), "/api/v1/namespaces", ns, nil, false); err != nil && !kube.IsConflict(err) {
		return err
	}
	return j.client.Create(t.Context(), base+"/namespaces/"+namespace+"/"+r.plural, doc, nil, true)
}

// find asks the server where a kind lives.
func (j *judge) find(t *testing.T, version, kind string) (resource, string, error) {
	base := "/apis/" + version
	if !strings.Contains(version, "/") {
		base = "/api/" + version
	}
	key := version + "/" + kind
	if r, ok := j.plurals[key]; ok {
		return r, base, nil
	}
	var list struct {
		Resources []struct {
			Name       string `json:"name"`
			Kind       string `json:"kind"`
			Namespaced bool   `json:"namespaced"`
		} `json:"resources"`
	}
	if err := j.client.Get(t.Context(), base, &list); kube.IsNotFound(err) {
		group, _, _ := strings.Cut(version, "/")
		for _, g := range unjudged() {
			if g == group {
				return resource{}, "", errNotThere
			}
		}
		return resource{}, "", fmt.Errorf("the server has no API %s", version)
	} else if err != nil {
		return resource{}, "", err
	}
	for _, r := range list.Resources {
		if r.Kind == kind && !strings.Contains(r.Name, "/") {
			j.plurals[key] = resource{r.Name, r.Namespaced}
			return j.plurals[key], base, nil
		}
	}
	return resource{}, "", fmt.Errorf("the server has no kind %s in %s", kind, version)
}

// mistakes checks that the judge can refuse: one manifest with a misspelt
// field and one without what has to be there.
func (j *judge) mistakes(t *testing.T) {
	for what, text := range map[string]string{
		"unknown field": `{"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","metadata":{"name":"a"},"spec":{"pytorchReplicaSpecs":{"Master":{"replica":1}}}}`,
		"required":      `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[{"image":"x"}],"restartPolicy":"Never"}}}}`,
	} {
		var doc map[string]any
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if err := j.dryRun(t, doc); err == nil || !strings.Contains(strings.ToLower(err.Error()), what) {
			t.Errorf("a manifest with a mistake (%s) is judged: %v", what, err)
		}
	}
}
