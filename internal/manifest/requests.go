package manifest

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// Requests is what a pod made of a template requests: a container without a request
// requests its limit, which the API server writes into pods, but not into templates.
func Requests(pod *corev1.Pod) corev1.ResourceList {
	pod = pod.DeepCopy()
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			asked := maps.Clone(containers[i].Resources.Limits)
			if asked == nil {
				continue
			}
			maps.Copy(asked, containers[i].Resources.Requests)
			containers[i].Resources.Requests = asked
		}
	}
	return resource.PodRequests(pod, resource.PodResourcesOptions{})
}
