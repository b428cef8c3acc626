// Package kube is knee's client of the Kubernetes API.
//
// It uses client-go, which finds servers and credentials as kubectl does: a kubeconfig with
// certificates, tokens, exec plugins (GKE, EKS, OIDC), proxies and impersonation, or the service
// account of a pod. [Client] repeats requests while a server restarts. [Follow] reports the
// changes of a set of objects, also those between two watches.
//
// The server checks the fields of written objects ([Client.Create]).
package kube
