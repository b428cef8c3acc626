package shard

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"knee/data"
)

// Limits of what is read: beyond them a file is wrong, and sums could
// overflow.
const (
	maxTensors  = 1_000_000
	maxElements = int64(1) << 40 // of one tensor
)

const wantShape = "a shape such as 64x3x7x7, or a number of elements"

// Read reads the tensors of a model, one per line: a name and a shape,
// separated by a comma or blanks.
//
//	conv0.weight,64x3x7x7
//	conv0.bias 64
//
// A shape is numbers with x between them, or one number of elements. A line
// with a shape only names its tensor by its position, tensor0 the first.
// Lines that are empty or begin with # are skipped, and so is a first line
// "name,shape". Errors are [data.InputError] with file and line.
func Read(r io.Reader, file string) ([]Tensor, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 1<<16), 1<<20)
	var out []Tensor
	seen := map[string]int{}
	line := 0
	fail := func(column, found, want string) error {
		return &data.InputError{Source: data.Source{File: file, Line: line, Column: column}, Found: found, Want: want}
	}
	for in.Scan() {
		line++
		text := strings.TrimSpace(strings.TrimPrefix(in.Text(), "\uFEFF"))
		fields := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
		if len(fields) == 0 || strings.HasPrefix(text, "#") || len(out) == 0 && len(fields) == 2 && fields[0] == "name" && fields[1] == "shape" {
			continue
		}
		if len(fields) > 2 {
			return nil, fail("", fmt.Sprintf("%d fields", len(fields)), "a name and a shape")
		}
		name, shape := fmt.Sprintf("tensor%d", len(out)), fields[len(fields)-1]
		if len(fields) == 2 {
			name = fields[0]
		}
		n, ok := elements(shape)
		switch {
		case !ok:
			return nil, fail("shape", strconv.Quote(clip(shape)), wantShape)
		case seen[name] > 0:
			return nil, fail("name", fmt.Sprintf("%q, which line %d names too", clip(name), seen[name]), "each tensor once")
		case len(out) == maxTensors:
			return nil, fail("", fmt.Sprintf("more than %d tensors", maxTensors), "the tensors of one model")
		}
		seen[name] = line
		out = append(out, Tensor{Name: name, Elements: n})
	}
	if err := in.Err(); err != nil {
		line++
		return nil, fail("", err.Error(), "lines of a name and a shape")
	}
	if len(out) == 0 {
		return nil, fail("", "no tensors", "lines of a name and a shape")
	}
	return out, nil
}

// elements is the product of a shape.
func elements(shape string) (int64, bool) {
	n := int64(1)
	for d := range strings.SplitSeq(shape, "x") {
		v, err := strconv.ParseInt(d, 10, 64)
		if err != nil || v < 1 || v > maxElements/n {
			return 0, false
		}
		n *= v
	}
	return n, true
}

func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// Load reads the file at path as [Read] does; see [data.Open].
func Load(path string) ([]Tensor, error) {
	f, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, path)
}
