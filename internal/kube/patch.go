package kube

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// Patch merges fields into the object at path (RFC 7396: null removes a field, a
// list replaces a list), and reads the result into out unless it is nil. With
// metadata.resourceVersion in fields, the error is a conflict if the object was
// changed since that version.
func (c *Client) Patch(ctx context.Context, path string, fields map[string]any, out any) error {
	body, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("write the patch for %s: %w", path, err)
	}
	r := c.rest.Patch(types.MergePatchType).AbsPath(path).Param("fieldValidation", "Strict").Body(body)
	return c.call(ctx, r, nil, out)
}
