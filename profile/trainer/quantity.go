package trainer

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// bytesFlag is a flag.Value that reads a number of bytes with a decimal
// (k, M, G) or binary (Ki, Mi, Gi) suffix.
type bytesFlag struct{ v *int64 }

// String returns the value in bytes.
func (f *bytesFlag) String() string {
	if f == nil || f.v == nil {
		return "0"
	}
	return strconv.FormatInt(*f.v, 10)
}

// Set reads a quantity such as 250k or 1.5Mi.
func (f *bytesFlag) Set(s string) error {
	num, scale := s, 1.0
	for _, u := range []struct {
		suffix string
		scale  float64
	}{{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}} {
		if n, ok := strings.CutSuffix(s, u.suffix); ok {
			num, scale = n, u.scale
			break
		}
	}
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || !(v >= 0) || v*scale > maxMessage {
		return fmt.Errorf("found %q, want a number of bytes up to 8Gi, such as 250k or 4Mi", s)
	}
	*f.v = int64(math.Round(v * scale))
	return nil
}
