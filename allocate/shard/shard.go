package shard

import (
	"fmt"
	"maps"
	"slices"

	"knee/data"
)

// Tensor is a parameter tensor of a model.
type Tensor struct {
	Name     string `json:"name"`
	Elements int64  `json:"elements"`
}

// Piece is a part of a tensor that a server holds: Elements of them from
// Offset on.
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

// Assignment is a division of tensors among servers.
type Assignment struct {
	Method  string   `json:"method"`
	Servers []Server `json:"servers"`
}

// Method divides tensors among a number of servers, at least 1.
type Method func(tensors []Tensor, servers int) []Server

// methods is the registry: name to method.
func methods() map[string]Method {
	return map[string]Method{"paa": PAA, "mxnet": MXNet, "round-robin": RoundRobin}
}

// Methods lists the names of the known methods.
func Methods() []string { return slices.Sorted(maps.Keys(methods())) }

// MaxServers bounds the servers of an assignment: more is a typing error.
const MaxServers = 100_000

// Assign divides tensors by the method of a name.
func Assign(method string, tensors []Tensor, servers int) (Assignment, error) {
	m, ok := methods()[method]
	switch {
	case !ok:
		return Assignment{}, &data.UnknownError{What: "assignment method", Name: method, Known: Methods()}
	case servers < 1 || servers > MaxServers:
		return Assignment{}, fmt.Errorf("%d parameter servers, want 1 to %d", servers, MaxServers)
	case len(tensors) == 0:
		return Assignment{}, fmt.Errorf("no tensors to assign")
	}
	return Assignment{Method: method, Servers: m(tensors, servers)}, nil
}

// Requests is how many requests all servers get in a step.
func (a Assignment) Requests() int {
	n := 0
	for _, s := range a.Servers {
		n += len(s.Pieces)
	}
	return n
}

// Largest is the elements of the server that holds most.
func (a Assignment) Largest() int64 {
	_, hi := a.range64(func(s Server) int64 { return s.Elements })
	return hi
}

// SizeSpread is the largest difference between servers in elements.
func (a Assignment) SizeSpread() int64 {
	lo, hi := a.range64(func(s Server) int64 { return s.Elements })
	return hi - lo
}

// RequestSpread is the largest difference between servers in requests.
func (a Assignment) RequestSpread() int {
	lo, hi := a.range64(func(s Server) int64 { return int64(len(s.Pieces)) })
	return int(hi - lo)
}

func (a Assignment) range64(of func(Server) int64) (lo, hi int64) {
	for i, s := range a.Servers {
		if v := of(s); i == 0 || v < lo {
			lo = v
		}
		hi = max(hi, of(s))
	}
	return lo, hi
}

// give hands a piece of a tensor to a server.
func (s *Server) give(t Tensor, offset, elements int64) {
	s.Elements += elements
	s.Pieces = append(s.Pieces, Piece{Tensor: t.Name, Offset: offset, Elements: elements})
}

// Total is the elements of all tensors.
func Total(tensors []Tensor) int64 {
	var n int64
	for _, t := range tensors {
		n += t.Elements
	}
	return n
}
