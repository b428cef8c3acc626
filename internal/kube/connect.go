package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// connect builds the client of a cluster and a user.
func connect(cluster namedCluster, user namedUser) (*Client, error) {
	base, err := url.Parse(cluster.Cluster.Server)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("cluster %q: server is %q, want a URL such as https://host:6443", cluster.Name, cluster.Cluster.Server)
	}
	base.Path = strings.TrimRight(base.Path, "/")
	conf, err := tlsOf(cluster)
	if err != nil {
		return nil, fmt.Errorf("cluster %q: %w", cluster.Name, err)
	}
	auth, err := credentials(user, conf)
	if err != nil {
		return nil, fmt.Errorf("user %q: %w", user.Name, err)
	}
	if auth != nil && base.Scheme == "http" {
		return nil, fmt.Errorf("cluster %q: server is %q, and credentials are sent over https only", cluster.Name, cluster.Cluster.Server)
	}
	transport := newTransport(conf)
	if p := cluster.Cluster.ProxyURL; p != "" {
		proxy, err := url.Parse(p)
		if err != nil || proxy.Host == "" {
			return nil, fmt.Errorf("cluster %q: proxy-url is %q, want a URL", cluster.Name, p)
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	return newClient(base, transport, auth), nil
}

// newTransport returns a transport for many watches to one host. HTTP/2 is
// kept, with pings, so that a connection that died unseen is found out.
func newTransport(conf *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:     conf,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 16,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
}

func newClient(base *url.URL, transport *http.Transport, auth authorizer) *Client {
	return &Client{Server: base.Scheme + "://" + base.Host, Namespace: "default", base: base, auth: auth,
		http: &http.Client{Transport: transport}, retries: defaultRetries, pause: firstPause}
}

func tlsOf(cluster namedCluster) (*tls.Config, error) {
	c := cluster.Cluster
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.TLSServerName, InsecureSkipVerify: c.SkipVerify}
	ca, err := material("certificate-authority", c.CAData, c.CAFile, cluster.file)
	if err != nil {
		return nil, err
	}
	if ca == nil {
		return conf, nil
	}
	if c.SkipVerify {
		return nil, errors.New("it has both a certificate-authority and insecure-skip-tls-verify; want one of them")
	}
	conf.RootCAs = x509.NewCertPool()
	if !conf.RootCAs.AppendCertsFromPEM(ca) {
		return nil, errors.New("certificate-authority holds no PEM certificate")
	}
	return conf, nil
}

// credentials returns what authorizes the requests of a user, and puts a
// client certificate into conf. It refuses ways to log in that it does not
// know, rather than going on without.
func credentials(user namedUser, conf *tls.Config) (authorizer, error) {
	u := user.User
	switch {
	case u.AuthProvider != nil:
		return nil, errors.New("auth-provider is not supported (Kubernetes removed it in 1.26); use exec or a token")
	case u.Username != "" || u.Password != "":
		return nil, errors.New("a user name and password are not supported (Kubernetes removed them in 1.19); use a token, a certificate or exec")
	case u.As != "":
		return nil, errors.New("impersonation (as) is not supported; use the credentials of that user")
	}
	cert, err := material("client-certificate", u.CertData, u.CertFile, user.file)
	if err != nil {
		return nil, err
	}
	key, err := material("client-key", u.KeyData, u.KeyFile, user.file)
	if err != nil {
		return nil, err
	}
	if (cert == nil) != (key == nil) {
		return nil, errors.New("client-certificate and client-key go together, and one is missing")
	}
	if cert != nil {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("client-certificate: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	switch {
	case u.Exec != nil:
		return newExecAuth(*u.Exec, user.file, conf)
	case u.TokenFile != "":
		return &fileToken{path: beside(user.file, u.TokenFile)}, nil
	case u.Token != "":
		return bearer(u.Token), nil
	}
	return nil, nil
}

// bearer is a token that does not change.
type bearer string

func (b bearer) authorize(_ context.Context, req *http.Request) error {
	req.Header.Set("Authorization", "Bearer "+string(b))
	return nil
}

func (bearer) refused() {}

// fileToken is a token in a file that its owner replaces before it expires,
// as the kubelet does with those of service accounts.
type fileToken struct {
	path string
	mu   sync.Mutex
	text string
	read time.Time
}

// tokenAge is how long a token that was read is used.
const tokenAge = time.Minute

func (f *fileToken) authorize(_ context.Context, req *http.Request) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.text == "" || time.Since(f.read) > tokenAge {
		b, err := os.ReadFile(f.path)
		if err != nil {
			return badConfig("read the token: %w", err)
		}
		f.text, f.read = strings.TrimSpace(string(b)), time.Now()
	}
	return bearer(f.text).authorize(context.Background(), req)
}

func (f *fileToken) refused() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text = ""
}

// serviceAccountDir is where every pod finds the credentials of its service
// account (kubernetes.io, "Accessing the Kubernetes API from a Pod").
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// inCluster returns the client of the pod this process runs in. The error
// wraps os.ErrNotExist where there is no pod.
func inCluster(dir string, getenv func(string) string) (*Client, error) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, fmt.Errorf("KUBERNETES_SERVICE_HOST: %w", os.ErrNotExist)
	}
	token := filepath.Join(dir, "token")
	if _, err := os.Stat(token); err != nil {
		return nil, &configError{fmt.Errorf("read the token of the service account: %w", err)}
	}
	cluster := namedCluster{Name: "in-cluster", Cluster: clusterRef{
		Server: "https://" + net.JoinHostPort(host, port), CAFile: filepath.Join(dir, "ca.crt")}}
	c, err := connect(cluster, namedUser{Name: "service account", User: userRef{TokenFile: token}})
	if err != nil {
		return nil, &configError{err}
	}
	if ns, err := os.ReadFile(filepath.Join(dir, "namespace")); err == nil && len(ns) > 0 {
		c.Namespace = strings.TrimSpace(string(ns))
	}
	return c, nil
}
