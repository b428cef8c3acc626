package kube_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"knee/internal/kube"
)

func TestConfigRefuses(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) {})
	for user, want := range map[string]string{
		"auth-provider: {name: gcp}":                          "auth-provider is not supported",
		"username: a, password: b":                            "a user name and password are not supported",
		"as: root":                                            "impersonation (as) is not supported",
		"client-certificate-data: aGFsbG8=":                   "client-certificate and client-key go together",
		"client-certificate-data: '!'":                        "client-certificate-data is not base64",
		"client-certificate: nowhere.crt":                     "nowhere.crt: no such file",
		"exec: {command: x}":                                  `apiVersion is "", want client.authentication.k8s.io/v1`,
		"exec: {apiVersion: client.authentication.k8s.io/v1}": "exec has no command",
		"exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}": "wants to ask questions",
	} {
		_, err := kube.Load(kube.Settings{Kubeconfig: kubeconfig(t, s, user)})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `context "main"`) {
			t.Errorf("%s: err = %v, want …%s…", user, err, want)
		}
	}
	file := kubeconfig(t, s, "")
	for name, tc := range map[string]struct {
		settings kube.Settings
		want     string
	}{
		"context": {kube.Settings{Kubeconfig: file, Context: "other"}, `there is no context "other", only main`},
		"file":    {kube.Settings{Kubeconfig: file + "x"}, "no such file"},
		"yaml":    {kube.Settings{Kubeconfig: filepath.Join(filepath.Dir(file), "ca.crt")}, "read the kubeconfig"},
	} {
		if _, err := kube.Load(tc.settings); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: err = %v, want …%s…", name, err, tc.want)
		}
	}
	bad := filepath.Join(t.TempDir(), "bad")
	write(t, bad, "current-context: m\ncontexts: [{name: m, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: 'host:6443'}}]\n")
	if _, err := kube.Load(kube.Settings{Kubeconfig: bad}); err == nil || !strings.Contains(err.Error(), "want a URL such as https://host:6443") {
		t.Errorf("err = %v", err)
	}
}

// KUBECONFIG may list files: what the first says wins, missing ones do not
// matter.
func TestConfigList(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "{}") })
	whole := kubeconfig(t, s, "token: a")
	over := filepath.Join(t.TempDir(), "over")
	write(t, over, "current-context: second\ncontexts: [{name: second, context: {cluster: c, user: u}}]\n")
	t.Setenv("KUBECONFIG", strings.Join([]string{over, over + ".missing", whole}, string(filepath.ListSeparator)))
	c, err := kube.Load(kube.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Context != "second" || c.Namespace != "default" {
		t.Errorf("context %q, namespace %q; want second, default", c.Context, c.Namespace)
	}
	if err := c.Get(t.Context(), kube.NodesPath(), new(kube.Object)); err != nil {
		t.Error(err)
	}
	if c, err = kube.Load(kube.Settings{Context: "main"}); err != nil || c.Namespace != "team" {
		t.Errorf("context main: %+v, %v", c, err)
	}
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := kube.Load(kube.Settings{}); err == nil || !strings.Contains(err.Error(), "find a Kubernetes cluster") {
		t.Errorf("nothing at all: %v", err)
	}
}

// FuzzKubeconfig: whatever a kubeconfig holds, it is an error and no panic.
func FuzzKubeconfig(f *testing.F) {
	f.Add("current-context: m\ncontexts: [{name: m, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'https://h'}}]\nusers: [{name: u, user: {token: t}}]\n")
	f.Add("contexts: [{}]\ncurrent-context: ''\n")
	f.Add("users: [{user: {exec: {}}}]")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "config")
		write(t, path, text)
		c, err := kube.Load(kube.Settings{Kubeconfig: path})
		if err == nil && (c.Server == "" || c.Namespace == "") {
			t.Errorf("%q gave a client without a server or namespace", text)
		}
	})
}
