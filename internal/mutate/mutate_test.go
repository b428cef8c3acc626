package mutate_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"knee/internal/mutate"
)

// The same seed gives the same damage, most files come out damaged, the file
// itself stays as it is, and nothing grows without bound.
func TestBytes(t *testing.T) {
	file := []byte("job: a\nworkers: [1, 2, 4]\nbudget: {cost: 1.5e3}\n")
	was := bytes.Clone(file)
	changed := 0
	for seed := range uint64(500) {
		one := mutate.Bytes(rand.New(rand.NewPCG(seed, 1)), file)
		if again := mutate.Bytes(rand.New(rand.NewPCG(seed, 1)), file); !bytes.Equal(one, again) {
			t.Fatalf("seed %d gives %.80q and %.80q", seed, one, again)
		}
		if !bytes.Equal(one, file) {
			changed++
		}
		if len(one) > 3*300_000+200*len(file) {
			t.Errorf("seed %d: %d bytes", seed, len(one))
		}
	}
	if !bytes.Equal(file, was) {
		t.Error("the file was changed")
	}
	if changed < 450 {
		t.Errorf("%d of 500 files were damaged", changed)
	}
	for seed := range uint64(20) {
		mutate.Bytes(rand.New(rand.NewPCG(seed, 1)), nil) // must not panic
	}
}
