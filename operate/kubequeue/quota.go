package kubequeue

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"knee/internal/kube"
	"knee/operate/queue"
)

// quotas adds the GPU quotas of the namespaces to the limits of a snapshot.
func (q *Queue) quotas(ctx context.Context, s *queue.Snapshot) error {
	for _, ns := range q.namespaces {
		path := kube.Path("v1", ns, "resourcequotas")
		list, _, err := kube.ListAll[corev1.ResourceQuota](ctx, q.client, path, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list %s: %w", path, err)
		}
		for _, r := range list {
			for name, quantity := range r.Spec.Hard {
				if !strings.HasPrefix(string(name), "requests.") || !strings.HasSuffix(string(name), "/gpu") {
					continue
				}
				n, whole := quantity.AsInt64()
				if !whole {
					return fmt.Errorf("quota %s/%s: %q of %s, want a whole number", r.Namespace, r.Name, quantity.String(), name)
				}
				jobs := map[string]bool{}
				for _, j := range s.Jobs {
					jobs[j.ID] = j.Namespace == r.Namespace
				}
				s.Limits = append(s.Limits, queue.Limit{Name: "namespace " + r.Namespace, Tenant: r.Namespace, Most: int(n), Jobs: jobs})
			}
		}
	}
	return nil
}
