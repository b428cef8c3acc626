package export

import (
	"bytes"

	"knee/data"
)

// JSON writes the plan as it is, indented.
type JSON struct{}

// Export implements [Exporter].
func (JSON) Export(p data.Plan) ([]File, error) {
	var b bytes.Buffer
	err := data.WritePlan(&b, &p)
	return []File{{Name: "plan.json", Mode: 0o644, Data: b.Bytes()}}, err
}
