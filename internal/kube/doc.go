// Package kube is what knee says to Kubernetes: it runs trials as pods and
// describes a cluster.
//
// Servers and credentials are found by client-go, as kubectl finds them: a
// kubeconfig with certificates, tokens, exec plugins (GKE, EKS, OIDC), proxies
// and impersonation, or the service account of a pod. So are requests sent and
// watches kept. On top of it [Client] asks again while a server restarts, and
// [Follow] tells of every change of a set of objects, what was missed between
// two watches included.
//
// Objects are read into the few types here and not into those of k8s.io/api,
// which would double the time a build takes: they hold the fields knee reads,
// unknown ones are ignored, and the server checks what is written strictly
// ([Client.Create]).
package kube
