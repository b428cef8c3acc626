// Package kube is knee's client of Kubernetes: it runs trials as pods and
// describes a cluster.
//
// It uses client-go, which finds servers and credentials as kubectl does: a
// kubeconfig with certificates, tokens, exec plugins (GKE, EKS, OIDC), proxies
// and impersonation, or the service account of a pod. [Client] repeats requests
// while a server restarts, and [Follow] reports every change of a set of objects,
// those between two watches included.
//
// Objects are read into the few types here and not into those of k8s.io/api,
// which would double the time a build takes: they hold the fields knee reads,
// unknown ones are ignored, and the server checks what is written strictly
// ([Client.Create]).
package kube
