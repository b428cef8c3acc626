package kube

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Settings says which cluster to speak to. The zero value is what kubectl
// would speak to.
type Settings struct {
	Kubeconfig string // file; empty for those of KUBECONFIG, else ~/.kube/config, else the pod's service account
	Context    string // of the kubeconfig; empty for its current one
}

// configError is a configuration that will not get better by trying again.
type configError struct{ err error }

func (e *configError) Error() string { return e.err.Error() }
func (e *configError) Unwrap() error { return e.err }

func badConfig(format string, args ...any) error {
	return &configError{fmt.Errorf(format, args...)}
}

// Load finds the API server and the credentials. It does not contact the
// server. Errors name the file and what is missing in it.
func Load(s Settings) (*Client, error) {
	files := []string{s.Kubeconfig}
	asked := s.Kubeconfig != "" || s.Context != ""
	if s.Kubeconfig == "" {
		var found bool
		if files, found = defaultFiles(); !found && !asked {
			c, err := inCluster(serviceAccountDir, os.Getenv)
			if err == nil || !errors.Is(err, os.ErrNotExist) {
				return c, err
			}
			return nil, badConfig("find a Kubernetes cluster: neither KUBECONFIG nor %s is there, and this is not a pod with a service account", strings.Join(files, ", "))
		}
	}
	var merged kubeconfig
	read := 0
	for _, file := range files {
		k, err := readKubeconfig(file)
		if errors.Is(err, os.ErrNotExist) && s.Kubeconfig == "" {
			continue // kubectl skips the missing ones of a list, too
		}
		if err != nil {
			return nil, &configError{err}
		}
		read++
		merged.add(k)
	}
	if read == 0 {
		return nil, badConfig("read the kubeconfig: none of %s is there", strings.Join(files, ", "))
	}
	return merged.client(s.Context, strings.Join(files, ", "))
}

// defaultFiles lists the kubeconfig files kubectl would read, and whether
// any is to be expected there.
func defaultFiles() ([]string, bool) {
	var files []string
	for _, f := range filepath.SplitList(os.Getenv("KUBECONFIG")) {
		if f != "" {
			files = append(files, f)
		}
	}
	if len(files) > 0 {
		return files, true
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return []string{"~/.kube/config"}, false
	}
	file := filepath.Join(home, ".kube", "config")
	_, err = os.Stat(file)
	return []string{file}, err == nil
}

// kubeconfig is the part of the kubeconfig format (kubernetes.io, "Organizing
// cluster access using kubeconfig files") that knee understands.
type kubeconfig struct {
	CurrentContext string         `yaml:"current-context"`
	Clusters       []namedCluster `yaml:"clusters"`
	Users          []namedUser    `yaml:"users"`
	Contexts       []namedContext `yaml:"contexts"`
}

type namedCluster struct {
	Name    string     `yaml:"name"`
	Cluster clusterRef `yaml:"cluster"`
	file    string
}

type clusterRef struct {
	Server        string `yaml:"server"`
	CAFile        string `yaml:"certificate-authority"`
	CAData        string `yaml:"certificate-authority-data"`
	TLSServerName string `yaml:"tls-server-name"`
	SkipVerify    bool   `yaml:"insecure-skip-tls-verify"`
	ProxyURL      string `yaml:"proxy-url"`
}

type namedUser struct {
	Name string  `yaml:"name"`
	User userRef `yaml:"user"`
	file string
}

type userRef struct {
	Token        string     `yaml:"token"`
	TokenFile    string     `yaml:"tokenFile"`
	CertFile     string     `yaml:"client-certificate"`
	CertData     string     `yaml:"client-certificate-data"`
	KeyFile      string     `yaml:"client-key"`
	KeyData      string     `yaml:"client-key-data"`
	Username     string     `yaml:"username"`
	Password     string     `yaml:"password"`
	As           string     `yaml:"as"`
	AuthProvider *yaml.Node `yaml:"auth-provider"`
	Exec         *execRef   `yaml:"exec"`
}

type namedContext struct {
	Name    string `yaml:"name"`
	Context struct {
		Cluster   string `yaml:"cluster"`
		User      string `yaml:"user"`
		Namespace string `yaml:"namespace"`
	} `yaml:"context"`
}

func readKubeconfig(file string) (kubeconfig, error) {
	var k kubeconfig
	text, err := os.ReadFile(file)
	if err != nil {
		return k, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if err := yaml.Unmarshal(text, &k); err != nil {
		return k, fmt.Errorf("read the kubeconfig %s: %w", file, err)
	}
	for i := range k.Clusters {
		k.Clusters[i].file = file
	}
	for i := range k.Users {
		k.Users[i].file = file
	}
	return k, nil
}

// add takes over what another file says. The first file to name a thing wins.
func (k *kubeconfig) add(o kubeconfig) {
	k.CurrentContext = cmp.Or(k.CurrentContext, o.CurrentContext)
	k.Clusters = append(k.Clusters, o.Clusters...)
	k.Users = append(k.Users, o.Users...)
	k.Contexts = append(k.Contexts, o.Contexts...)
}

// client resolves a context. files is for messages.
func (k *kubeconfig) client(name, files string) (*Client, error) {
	name = cmp.Or(name, k.CurrentContext)
	if name == "" {
		return nil, badConfig("%s: no current-context; name a context", files)
	}
	var names []string
	for _, c := range k.Contexts {
		names = append(names, c.Name)
		if c.Name != name {
			continue
		}
		cluster, err := k.cluster(c.Context.Cluster)
		if err != nil {
			return nil, badConfig("%s: context %q: %w", files, name, err)
		}
		user, err := k.user(c.Context.User)
		if err != nil {
			return nil, badConfig("%s: context %q: %w", files, name, err)
		}
		client, err := connect(cluster, user)
		if err != nil {
			return nil, badConfig("%s: context %q: %w", files, name, err)
		}
		client.Context, client.Namespace = name, cmp.Or(c.Context.Namespace, "default")
		return client, nil
	}
	return nil, badConfig("%s: there is no context %q, only %s", files, name, cmp.Or(strings.Join(names, ", "), "none at all"))
}

func (k *kubeconfig) cluster(name string) (namedCluster, error) {
	for _, c := range k.Clusters {
		if c.Name == name {
			return c, nil
		}
	}
	return namedCluster{}, fmt.Errorf("it names cluster %q, which is not there", name)
}

func (k *kubeconfig) user(name string) (namedUser, error) {
	for _, u := range k.Users {
		if u.Name == name {
			return u, nil
		}
	}
	if name == "" {
		return namedUser{}, nil // a server that asks for nothing
	}
	return namedUser{}, fmt.Errorf("it names user %q, which is not there", name)
}

// material returns data given inline in base64, or else the contents of a
// file named relative to the kubeconfig.
func material(what, inline, file, kubeconfig string) ([]byte, error) {
	switch {
	case inline != "":
		b, err := base64.StdEncoding.DecodeString(inline)
		if err != nil {
			return nil, fmt.Errorf("%s-data is not base64: %w", what, err)
		}
		return b, nil
	case file != "":
		b, err := os.ReadFile(beside(kubeconfig, file))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		return b, nil
	}
	return nil, nil
}

// beside resolves a path of a kubeconfig.
func beside(kubeconfig, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(filepath.Dir(kubeconfig), file)
}

// authorizer adds credentials to requests.
type authorizer interface {
	authorize(ctx context.Context, req *http.Request) error
	refused() // the server did not take the credentials
}
