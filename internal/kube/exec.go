package kube

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// execRef is a program that prints credentials: how the managed clusters of
// the large providers log in.
type execRef struct {
	APIVersion         string   `yaml:"apiVersion"`
	Command            string   `yaml:"command"`
	Args               []string `yaml:"args"`
	Env                []envRef `yaml:"env"`
	InstallHint        string   `yaml:"installHint"`
	InteractiveMode    string   `yaml:"interactiveMode"`
	ProvideClusterInfo bool     `yaml:"provideClusterInfo"`
}

type envRef struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

// execCredential is what the program prints (client.authentication.k8s.io).
type execCredential struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Status     *struct {
		Token       string     `json:"token"`
		Certificate string     `json:"clientCertificateData"`
		Key         string     `json:"clientKeyData"`
		Expires     *time.Time `json:"expirationTimestamp"`
	} `json:"status"`
}

// execAuth asks the program when it has no credentials, when those it has
// expire, and when the server refuses them.
type execAuth struct {
	ref     execRef
	path    string
	mu      sync.Mutex
	token   string
	cert    *tls.Certificate
	have    bool
	expires time.Time // zero for never
}

// expiryMargin is how long before their end credentials are renewed.
const expiryMargin = 30 * time.Second

// execTimeout bounds the program, which may speak to a slow login server.
const execTimeout = time.Minute

func newExecAuth(ref execRef, kubeconfig string, conf *tls.Config) (authorizer, error) {
	switch {
	case ref.Command == "":
		return nil, errors.New("exec has no command")
	case ref.InteractiveMode == "Always":
		return nil, fmt.Errorf("exec: %s wants to ask questions (interactiveMode Always), which trials cannot answer", ref.Command)
	case ref.ProvideClusterInfo:
		return nil, fmt.Errorf("exec: %s wants to be told of the cluster (provideClusterInfo), which is not supported", ref.Command)
	case ref.APIVersion != "client.authentication.k8s.io/v1" && ref.APIVersion != "client.authentication.k8s.io/v1beta1":
		return nil, fmt.Errorf("exec: apiVersion is %q, want client.authentication.k8s.io/v1 or v1beta1", ref.APIVersion)
	}
	e := &execAuth{ref: ref, path: ref.Command}
	if strings.ContainsRune(ref.Command, filepath.Separator) {
		e.path = beside(kubeconfig, ref.Command)
	}
	if conf.Certificates == nil {
		conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.cert == nil {
				return &tls.Certificate{}, nil // none: the token speaks
			}
			return e.cert, nil
		}
	}
	return e, nil
}

func (e *execAuth) authorize(ctx context.Context, req *http.Request) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.have || !e.expires.IsZero() && time.Until(e.expires) < expiryMargin {
		if err := e.ask(ctx); err != nil {
			return err
		}
	}
	if e.token != "" {
		return bearer(e.token).authorize(ctx, req)
	}
	return nil
}

func (e *execAuth) refused() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.have = false
}

// ask runs the program and takes what it prints. What it prints is secret
// and appears in no message.
func (e *execAuth) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, execTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.path, e.ref.Args...)
	info := fmt.Sprintf(`{"apiVersion":%q,"kind":"ExecCredential","spec":{"interactive":false}}`, e.ref.APIVersion)
	cmd.Env = append(os.Environ(), "KUBERNETES_EXEC_INFO="+info)
	for _, v := range e.ref.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		said := strings.Join(strings.Fields(stderr.String()), " ")
		if len(said) > 300 {
			said = strings.ToValidUTF8(said[:300], "") + "…"
		}
		if errors.Is(err, exec.ErrNotFound) {
			said = cmp.Or(strings.TrimSpace(e.ref.InstallHint), said)
		}
		return badConfig("log in with %s: %w; %s", e.ref.Command, err, cmp.Or(said, "it said nothing"))
	}
	var c execCredential
	if err := json.Unmarshal(stdout.Bytes(), &c); err != nil || c.Kind != "ExecCredential" || c.Status == nil {
		return badConfig("log in with %s: it did not print an ExecCredential with a status", e.ref.Command)
	}
	if c.Status.Token == "" && c.Status.Certificate == "" {
		return badConfig("log in with %s: it printed neither a token nor a certificate", e.ref.Command)
	}
	e.token, e.cert, e.expires, e.have = c.Status.Token, nil, time.Time{}, true
	if c.Status.Expires != nil {
		e.expires = *c.Status.Expires
	}
	if c.Status.Certificate != "" {
		pair, err := tls.X509KeyPair([]byte(c.Status.Certificate), []byte(c.Status.Key))
		if err != nil {
			return badConfig("log in with %s: its certificate: %w", e.ref.Command, err)
		}
		e.cert = &pair
	}
	return nil
}
