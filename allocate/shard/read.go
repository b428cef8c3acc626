package shard

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"knee/data"
)

// maxElements bounds a tensor, so that sums cannot overflow.
const maxElements = int64(1) << 40

// Read reads the tensors of a model from a CSV file with the columns name and shape, such
// as 64x3x7x7 or a number of elements.
func Read(r io.Reader, file string) ([]Tensor, error) {
	var out []Tensor
	seen := map[string]int{}
	err := data.EachRow(r, file, []string{"name", "shape"}, func(row *data.Row) error {
		t := Tensor{Name: row.Text("name")}
		var ok bool
		if t.Elements, ok = elements(row.Cell("shape")); !ok {
			row.Bad("shape", "a shape such as 64x3x7x7, or a number of elements")
		}
		if t.Name == "" || seen[t.Name] > 0 {
			row.Fail("name", fmt.Sprintf("%q, which line %d names too", t.Name, seen[t.Name]), "a name for each tensor")
		}
		seen[t.Name] = row.Line
		out = append(out, t)
		return nil
	})
	if err == nil && len(out) == 0 {
		err = &data.InputError{Source: data.Source{File: file}, Found: "no tensors", Want: "lines of a name and a shape"}
	}
	return out, err
}

// elements is the product of a shape, which may be written as Python does: (64, 3),
// [64,3], torch.Size([64, 3]) and, of a scalar, ().
func elements(shape string) (int64, bool) {
	n := int64(1)
	if listed := strings.Trim(strings.TrimPrefix(shape, "torch.Size"), "()[]"); listed != shape {
		if shape = strings.TrimSuffix(strings.ReplaceAll(listed, ",", "x"), "x"); shape == "" {
			return 1, true
		}
	}
	for d := range strings.SplitSeq(shape, "x") {
		v, err := strconv.ParseInt(strings.TrimSpace(d), 10, 64)
		if err != nil || v < 1 || v > maxElements/n {
			return 0, false
		}
		n *= v
	}
	return n, true
}
