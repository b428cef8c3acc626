package export

import (
	"bytes"
	"encoding/json"
	"fmt"

	"knee/data"
)

// JSON writes the plan as it is, indented.
type JSON struct{}

// Export implements [Exporter].
func (JSON) Export(p data.Plan) ([]File, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(p); err != nil {
		return nil, fmt.Errorf("export to json: %w", err)
	}
	return []File{{Name: "plan.json", Mode: 0o644, Data: b.Bytes()}}, nil
}
