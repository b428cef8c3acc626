package kube

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Object is anything that has metadata.
type Object = metav1.PartialObjectMetadata

// List is one page of a collection.
type List[T any] struct {
	Metadata metav1.ListMeta `json:"metadata"`
	Items    []T             `json:"items"`
}
