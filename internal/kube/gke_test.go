package kube_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"knee/internal/kube"
)

// TestKubeconfigOfGKE loads a kubeconfig as `gcloud container clusters
// get-credentials` writes it: the CA inline, and a plugin that is told of the
// cluster (provideClusterInfo) and may ask questions if somebody is there.
func TestKubeconfigOfGKE(t *testing.T) {
	asked := ""
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Authorization") + " as " + r.Header.Get("Impersonate-User")
		fmt.Fprint(w, `{"items":[{"metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"4"}}}]}`)
	})
	dir := t.TempDir()
	plugin := filepath.Join(dir, "gke-gcloud-auth-plugin")
	write(t, plugin, `#!/bin/sh
printf '%s' "$KUBERNETES_EXEC_INFO" >`+dir+`/info
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","metadata":{},"spec":{"interactive":false},"status":{"expirationTimestamp":"2100-01-01T00:00:00Z","token":"ya29.secret"}}'
`)
	ca, err := json.Marshal(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	if err != nil {
		t.Fatal(err)
	}
	const name = "gke_project_europe-west4_cluster"
	path := filepath.Join(dir, "config")
	write(t, path, fmt.Sprintf(`apiVersion: v1
kind: Config
preferences: {}
current-context: %[1]s
clusters:
- cluster:
    certificate-authority-data: %[2]s
    server: %[3]s
  name: %[1]s
contexts:
- context:
    cluster: %[1]s
    user: %[1]s
  name: %[1]s
users:
- name: %[1]s
  user:
    as: trainer@project.iam.gserviceaccount.com
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: %[4]s
      installHint: Install gke-gcloud-auth-plugin for use with kubectl by following
        https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-access-for-kubectl#install_plugin
      provideClusterInfo: true
`, name, ca, s.URL, plugin))
	c, err := kube.Load(kube.Settings{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}
	if c.Context != name || c.Namespace != "default" || c.Server != s.URL {
		t.Errorf("context %q, namespace %q, server %q", c.Context, c.Namespace, c.Server)
	}
	if got, _, err := kube.Cluster(t.Context(), c); err != nil || len(got.Nodes) != 1 {
		t.Errorf("cluster %+v, %v", got, err)
	}
	if asked != "Bearer ya29.secret as trainer@project.iam.gserviceaccount.com" {
		t.Errorf("the server was asked by %q", asked)
	}
	if info, _ := os.ReadFile(filepath.Join(dir, "info")); !strings.Contains(string(info), s.URL) {
		t.Errorf("the plugin was told %q, want the cluster", info)
	}
}

// A plugin that is not installed is an error at once, not an outage.
func TestPluginMissing(t *testing.T) {
	s := server(t, func(http.ResponseWriter, *http.Request) {})
	c := load(t, kubeconfig(t, s, "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: no-such-plugin, installHint: 'get it'}"))
	err := c.Get(t.Context(), kube.NodesPath(), nil)
	if err == nil || kube.IsTemporary(err) || !strings.Contains(err.Error(), "no-such-plugin not found") || !strings.Contains(err.Error(), "get it") {
		t.Errorf("err = %v", err)
	}
}
