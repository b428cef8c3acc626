// Package kube is a small client of the Kubernetes API: what knee needs to
// run trials as pods and to describe a cluster, and no more.
//
// [Load] finds the server and the credentials as kubectl does: --kubeconfig,
// the files of KUBECONFIG, ~/.kube/config, and inside a pod its service
// account. A [Client] gets, lists, creates and deletes objects as JSON,
// follows the output of a container ([Client.Logs]), and [Follow] keeps a
// program told of every change of a set of objects through broken
// connections, expired resource versions and restarts of the API server.
//
// Why not client-go: knee speaks of six kinds of object and makes seven kinds
// of request. A program that only lists pods through client-go v0.34 is 54 MB
// of 568 packages, where knee as a whole is 32 MB, and its versions drag those
// of the whole Kubernetes tree along. The protocol underneath is JSON over
// HTTP with a documented contract for watches (kubernetes.io, "Kubernetes API
// Concepts"), and this package is tested against the real API server. The
// types here hold the fields knee reads; unknown ones are ignored when
// reading, and the server checks what is written strictly ([Client.Create]).
package kube
