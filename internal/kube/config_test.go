package kube_test

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"knee/data"
	"knee/internal/kube"
)

func TestConfigRefuses(t *testing.T) {
	s := server(t, func(w http.ResponseWriter, r *http.Request) {})
	for user, want := range map[string]string{
		"auth-provider: {name: gcp}":                          `no Auth Provider found for name "gcp"`,
		"client-certificate-data: aGFsbG8=":                   "client-key-data or client-key must be specified",
		"client-certificate-data: '!'":                        "illegal base64 data",
		"client-certificate: nowhere.crt":                     "nowhere.crt: no such file",
		"exec: {command: x}":                                  "apiVersion must be specified for u",
		"exec: {apiVersion: client.authentication.k8s.io/v1}": "command must be specified for u",
	} {
		path := kubeconfig(t, s, user)
		_, err := kube.Load(kube.Settings{Kubeconfig: path})
		var input *data.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: err = %v, want …%s…", user, err, want)
		}
	}
	file := kubeconfig(t, s, "")
	for name, tc := range map[string]struct {
		settings kube.Settings
		want     string
	}{
		"context": {kube.Settings{Kubeconfig: file, Context: "other"}, "other: found no such context, want one of main"},
		"file":    {kube.Settings{Kubeconfig: file + "x"}, "no such file"},
		"yaml":    {kube.Settings{Kubeconfig: filepath.Join(filepath.Dir(file), "ca.crt")}, "ca.crt"},
	} {
		if _, err := kube.Load(tc.settings); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: err = %v, want …%s…", name, err, tc.want)
		}
	}
}

// KUBECONFIG may list files: the first has precedence, missing files are ignored.
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
	if _, err := kube.Load(kube.Settings{}); err == nil || !strings.Contains(err.Error(), "found no cluster") {
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
		if err == nil && c.Namespace == "" {
			t.Errorf("%q gave a client without a namespace", text)
		}
	})
}
