package kube

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// Patch merges fields into the object at path (RFC 7396: null removes one, a
// list replaces a list), reading the changed one into out unless it is nil. A
// metadata.resourceVersion among the fields makes the server refuse it, by a
// conflict, if the object was changed since.
func (c *Client) Patch(ctx context.Context, path string, fields map[string]any, out any) error {
	body, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("write the patch for %s: %w", path, err)
	}
	r := c.rest.Patch(types.MergePatchType).AbsPath(path).Param("fieldValidation", "Strict").Body(body)
	return c.call(ctx, r, nil, out)
}
