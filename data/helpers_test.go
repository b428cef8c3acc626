package data_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"knee/data"
)

// sameData compares what was read apart from where it was read, and takes
// absent (NaN) quantities for equal.
func sameData() cmp.Options {
	return cmp.Options{
		cmpopts.IgnoreTypes(data.Source{}), cmpopts.EquateNaNs(), cmpopts.EquateEmpty(),
	}
}

// failure is an input and its whole error message.
type failure struct{ name, input, want string }

// checkFailures runs a reader over invalid inputs; each must give an
// InputError, which determines the exit status.
func checkFailures(t *testing.T, tests []failure, read func(io.Reader, string) error) {
	t.Helper()
	for _, tt := range tests {
		err := read(strings.NewReader(tt.input), "f")
		if err == nil {
			t.Errorf("%s: accepted, want %q", tt.name, tt.want)
			continue
		}
		if err.Error() != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, err, tt.want)
		}
		if ie := (*data.InputError)(nil); !errors.As(err, &ie) {
			t.Errorf("%s: %T, want an InputError", tt.name, err)
		}
	}
}

// checkRoundTrip writes v, reads it again and compares.
func checkRoundTrip[T any](t interface {
	Helper()
	Fatalf(string, ...any)
}, v T, write func(io.Writer, T) error, read func(io.Reader, string) (T, error)) {
	t.Helper()
	var b strings.Builder
	if err := write(&b, v); err != nil {
		t.Fatalf("write %+v: %v", v, err)
	}
	again, err := read(strings.NewReader(b.String()), "f")
	if err != nil {
		t.Fatalf("read back: %v\n%s", err, b.String())
	}
	if diff := cmp.Diff(v, again, sameData()); diff != "" {
		t.Fatalf("reading back (-written +read):\n%s\n%s", diff, b.String())
	}
}

// withoutWarnings makes a reader of two results from one of three.
func withoutWarnings[T any](read func(io.Reader, string) (T, []string, error)) func(io.Reader, string) (T, error) {
	return func(r io.Reader, name string) (T, error) {
		v, _, err := read(r, name)
		return v, err
	}
}

// errorOf keeps only the error of a reader.
func errorOf[T any](read func(io.Reader, string) (T, error)) func(io.Reader, string) error {
	return func(r io.Reader, name string) error {
		_, err := read(r, name)
		return err
	}
}
