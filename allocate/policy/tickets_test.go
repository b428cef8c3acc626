package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"knee/allocate"
	"knee/data"
)

// TestTickets: of tenants of weight 3 and 1 the first gives all to its only child with
// jobs, the second half to each of two; jobs of a parent itself count as a child of weight 1.
func TestTickets(t *testing.T) {
	var s allocate.State
	s.Tenants = map[string]data.Tenant{"a": {Weight: 3}, "b": {}, "flat": {Weight: 5},
		"x": {Parent: "a", Weight: 7}, "idle": {Parent: "a"}, "y": {Parent: "b"}, "z": {Parent: "b"}, "deep": {Parent: "z", Weight: 3}}
	for _, owner := range []string{"x", "x", "y", "z", "deep", "flat", "", "other"} {
		j := gangOf("j", 0, 1, 1)
		j.History.Tenant, j.Weight = owner, 2
		s.Jobs = append(s.Jobs, j)
	}
	want := map[string]float64{"tenant x": 3, "tenant y": 1. / 2, "tenant z": 1. / 8, "tenant deep": 3. / 8, "tenant flat": 5, "job j": 2, "tenant other": 2}
	if got := tickets(s); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSharesOfChildren: of eight GPUs the child of a tenant of weight 3 gets six, each of the
// two children of one of weight 1 gets one.
func TestSharesOfChildren(t *testing.T) {
	for _, e := range policies() {
		if e.takes&tenantWeights == 0 {
			continue
		}
		s := stateOf(200, 8, 0)
		s.Tenants = map[string]data.Tenant{"a": {Weight: 3}, "b": {Weight: 1}, "x": {Parent: "a"}, "y": {Parent: "b"}, "z": {Parent: "b"}}
		for _, owner := range strings.Split("zyxxxxxxyz", "") {
			j := gangOf(fmt.Sprint("j", len(s.Jobs)), 0, 1, 1000)
			j.History.Tenant, j.History.Ran, j.Attained, j.Remaining = owner, 100, 100, 1000
			s.Jobs = append(s.Jobs, j)
		}
		made, err := e.make().Allocate(s)
		if err != nil {
			t.Fatal(e.name, err)
		}
		if want := []int{0, 0, 0, 0, 0, 0, 0, 0, -1, -1}; !slices.Equal(made.Choice, want) {
			t.Errorf("%s: choices %v, want %v", e.name, made.Choice, want)
		}
	}
}
