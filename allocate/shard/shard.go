package shard

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"knee/data"
	"knee/internal/list"
)

// Tensor is a parameter tensor of a model.
type Tensor struct {
	Name     string `json:"name"`
	Elements int64  `json:"elements"`
}

// Piece is a part of a tensor on a server: Elements elements from Offset.
type Piece struct {
	Tensor   string `json:"tensor"`
	Offset   int64  `json:"offset"`
	Elements int64  `json:"elements"`
}

// Server is what one parameter server holds; each piece is one request.
type Server struct {
	Elements int64   `json:"elements"`
	Pieces   []Piece `json:"pieces"`
}

// Assignment is a division of tensors among servers, and its balance.
type Assignment struct {
	Method        string   `json:"method"` // paa or mxnet
	Servers       []Server `json:"servers"`
	Largest       int64    `json:"largest_elements"` // of the server that holds most
	SizeSpread    int64    `json:"size_spread"`      // largest difference between servers in elements
	RequestSpread int      `json:"request_spread"`   // and in requests
	Requests      int      `json:"requests"`         // of all servers in a step
}

// MaxServers is the most servers of an assignment: more is a typing error.
const MaxServers = 100_000

// Compare divides tensors among servers by [PAA] and by [MXNet].
func Compare(tensors []Tensor, servers int) ([]Assignment, error) {
	if servers < 1 || servers > MaxServers {
		return nil, fmt.Errorf("%d parameter servers, want 1 to %d", servers, MaxServers)
	}
	return []Assignment{balance("paa", PAA(tensors, servers)), balance("mxnet", MXNet(tensors, servers))}, nil
}

func balance(method string, servers []Server) Assignment {
	a := Assignment{Method: method, Servers: servers}
	least, fewest, most := int64(math.MaxInt64), math.MaxInt, 0
	for _, s := range servers {
		n := len(s.Pieces)
		a.Requests += n
		a.Largest, least = max(a.Largest, s.Elements), min(least, s.Elements)
		most, fewest = max(most, n), min(fewest, n)
	}
	a.SizeSpread, a.RequestSpread = a.Largest-least, most-fewest
	return a
}

// give adds a piece of a tensor to a server.
func (s *Server) give(t Tensor, offset, elements int64) {
	s.Elements += elements
	s.Pieces = append(s.Pieces, Piece{Tensor: t.Name, Offset: offset, Elements: elements})
}

// Total is the number of elements of all tensors.
func Total(tensors []Tensor) int64 {
	return list.Sum(tensors, func(t Tensor) int64 { return t.Elements })
}

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
