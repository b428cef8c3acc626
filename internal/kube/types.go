package kube

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Meta is the part of an object's metadata that knee reads and writes.
type Meta struct {
	Name              string                  `json:"name,omitempty"`
	Namespace         string                  `json:"namespace,omitempty"`
	UID               string                  `json:"uid,omitempty"`
	ResourceVersion   string                  `json:"resourceVersion,omitempty"`
	Labels            map[string]string       `json:"labels,omitempty"`
	Annotations       map[string]string       `json:"annotations,omitempty"`
	CreationTimestamp *time.Time              `json:"creationTimestamp,omitempty"`
	DeletionTimestamp *time.Time              `json:"deletionTimestamp,omitempty"`
	OwnerReferences   []metav1.OwnerReference `json:"ownerReferences,omitempty"`
}

// Object is anything that has metadata.
type Object struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        Meta `json:"metadata"`
}

// Pod is a pod as the server reports it.
type Pod struct {
	Object
	Spec   PodSpec   `json:"spec"`
	Status PodStatus `json:"status"`
}

// PodSpec is what knee reads of the wanted state of a pod.
type PodSpec struct {
	NodeName   string      `json:"nodeName,omitempty"`
	Priority   int32       `json:"priority,omitempty"`
	Containers []Container `json:"containers,omitempty"`
}

// Container is what knee reads of one container.
type Container struct {
	Name      string    `json:"name"`
	Resources Resources `json:"resources"`
}

// Resources is what a container asks for, in quantities.
type Resources struct {
	Requests map[string]string `json:"requests,omitempty"`
	Limits   map[string]string `json:"limits,omitempty"`
}

// PodStatus is the observed state of a pod.
type PodStatus struct {
	Phase             string             `json:"phase,omitempty"` // Pending, Running, Succeeded, Failed or Unknown
	Reason            string             `json:"reason,omitempty"`
	Message           string             `json:"message,omitempty"`
	Conditions        []metav1.Condition `json:"conditions,omitempty"`
	ContainerStatuses []ContainerStatus  `json:"containerStatuses,omitempty"`
}

// ContainerStatus is the observed state of a container.
type ContainerStatus struct {
	Name  string         `json:"name"`
	State ContainerState `json:"state"`
}

// ContainerState has one field set.
type ContainerState struct {
	Waiting    *Stage `json:"waiting,omitempty"`
	Running    *Stage `json:"running,omitempty"`
	Terminated *Stage `json:"terminated,omitempty"`
}

// Stage is why a container does not run yet, since when it runs, or how it ended.
type Stage struct {
	ExitCode   int        `json:"exitCode,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	Message    string     `json:"message,omitempty"`
	StartedAt  *time.Time `json:"startedAt,omitempty"`
	FinishedAt *time.Time `json:"finishedAt,omitempty"`
}

// Job is a batch/v1 Job as the server reports it.
type Job struct {
	Object
	Spec struct {
		Suspend bool `json:"suspend,omitempty"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
}

// Node is a machine of the cluster as the server reports it.
type Node struct {
	Object
	Spec struct {
		Unschedulable bool    `json:"unschedulable,omitempty"`
		Taints        []Taint `json:"taints,omitempty"`
	} `json:"spec"`
	Status struct {
		Allocatable map[string]string  `json:"allocatable,omitempty"` // quantities such as "3920m", "16Gi"
		Conditions  []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
}

// Taint keeps pods that do not tolerate it off a node.
type Taint struct {
	Key    string `json:"key"`
	Effect string `json:"effect"` // NoSchedule, PreferNoSchedule or NoExecute
}

// Event is a report of a component about an object.
type Event struct {
	Object
	Reason        string     `json:"reason,omitempty"`
	Message       string     `json:"message,omitempty"`
	Type          string     `json:"type,omitempty"` // Normal or Warning
	LastTimestamp *time.Time `json:"lastTimestamp,omitempty"`
}

// List is one page of a collection.
type List[T any] struct {
	Metadata metav1.ListMeta `json:"metadata"`
	Items    []T             `json:"items"`
}
