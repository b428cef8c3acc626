package kubequeue

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"knee/internal/kube"
	"knee/operate/queue"
)

// quota is a ResourceQuota of Kubernetes.
type quota struct {
	kube.Object
	Spec struct {
		Hard map[string]string `json:"hard"`
	} `json:"spec"`
}

// quotas adds the GPU quotas of the namespaces to the limits of a snapshot.
func (q *Queue) quotas(ctx context.Context, s *queue.Snapshot) error {
	for _, ns := range q.namespaces {
		path := "/api/v1/resourcequotas"
		if ns != "" {
			path = "/api/v1/namespaces/" + ns + "/resourcequotas"
		}
		list, _, err := kube.ListAll[quota](ctx, q.client, path, kube.Selector{})
		if err != nil {
			return fmt.Errorf("list %s: %w", path, err)
		}
		for _, r := range list {
			for name, text := range r.Spec.Hard {
				if !strings.HasPrefix(name, "requests.") || !strings.HasSuffix(name, "/gpu") {
					continue
				}
				n, err := strconv.Atoi(text)
				if err != nil {
					return fmt.Errorf("quota %s/%s: %q of %s, want a whole number", r.Metadata.Namespace, r.Metadata.Name, text, name)
				}
				jobs := map[string]bool{}
				for _, j := range s.Jobs {
					jobs[j.ID] = j.Namespace == r.Metadata.Namespace
				}
				s.Limits = append(s.Limits, queue.Limit{Name: "namespace " + r.Metadata.Namespace, Tenant: r.Metadata.Namespace, Most: n, Jobs: jobs})
			}
		}
	}
	return nil
}
