package kube

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/dynamic"
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc" // auth-provider: oidc
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"knee/data"
)

// Settings selects a cluster. The zero value selects that of kubectl.
type Settings struct {
	Kubeconfig string // file; empty for those of KUBECONFIG, else ~/.kube/config, else the pod's service account
	Context    string // context of the kubeconfig; empty for the current one
}

// Load finds server and credentials, without contact. Errors are [data.InputError].
func Load(s Settings) (*Client, error) {
	quiet()
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.WarnIfAllMissing = s.Kubeconfig, false
	files := cmp.Or(s.Kubeconfig, strings.Join(rules.Precedence, ", "))
	found := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: s.Context})
	raw, _ := found.RawConfig() // ClientConfig returns the same error
	if names := slices.Sorted(maps.Keys(raw.Contexts)); s.Context != "" && !slices.Contains(names, s.Context) && len(names) > 0 {
		return nil, &data.InputError{Source: data.Source{File: files, Column: s.Context}, Found: "no such context", Want: "one of " + strings.Join(names, ", ")}
	}
	config, err := found.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, &data.InputError{Source: data.Source{File: files}, Found: "no cluster", Want: "a kubeconfig there or in KUBECONFIG, or to run in a pod with a service account"}
	}
	var client *rest.RESTClient
	if err == nil {
		config = dynamic.ConfigFor(config) // for JSON of any kind
		config.UserAgent, config.APIPath = "knee", "/"
		config.QPS = -1 // no limit: knee makes few requests, but several at once
		client, err = rest.UnversionedRESTClientFor(config)
	}
	if err != nil {
		return nil, &data.InputError{Source: data.Source{File: files, Column: s.Context}, Found: err.Error(), Want: "a kubeconfig that kubectl can use"}
	}
	c := &Client{Server: config.Host, rest: client}
	if c.Namespace, _, err = found.Namespace(); err != nil {
		return nil, &data.InputError{Source: data.Source{File: files}, Found: err.Error(), Want: "a namespace"}
	}
	c.Context = cmp.Or(s.Context, raw.CurrentContext)
	return c, nil
}

// quiet keeps client-go from writing to standard error: errors are returned.
var quiet = sync.OnceFunc(func() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) })
