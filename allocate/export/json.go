package export

import (
	"bytes"

	"knee/data"
)

// planJSON writes the plan itself, indented.
func planJSON(p data.Plan) ([]File, error) {
	var b bytes.Buffer
	err := data.WritePlan(&b, &p)
	return []File{{Name: "plan.json", Mode: 0o644, Data: b.Bytes()}}, err
}
