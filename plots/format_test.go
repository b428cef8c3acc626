package plots

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPlain(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 16384: "16384", 10123.4: "10120", 123456.7: "123500", 999999.7: "1M", 1048576: "1.05M", 2.5e9: "2.5G",
		4.2195: "4.22", 0.0138: "0.0138", 0.000138: "0.000138", 1.49e-5: "1.49e-5", -23128.4: "-23130", 512.6: "513",
	} {
		if got := Plain(v); got != want {
			t.Errorf("Plain(%g) = %s; want %s", v, got, want)
		}
	}
}

// No number that a person meets is written with an exponent.
func TestPlainHasNoExponent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := math.Pow(10, rapid.Float64Range(-3.9, 14).Draw(t, "log"))
		if s := Plain(v); strings.ContainsAny(s, "eE") || len(s) > 8 {
			t.Fatalf("Plain(%g) = %s", v, s)
		}
	})
}

func TestMoney(t *testing.T) {
	for v, want := range map[float64]string{
		0: "$0.00", 7.4e-6: "<$0.0001", 0.000295: "$0.0003", 0.0042: "$0.0042", 0.0565: "$0.057", 0.123: "$0.12", 999.994: "$999.99", 12345.6: "$12,346", 1234567: "$1,234,567", -3: "-$3.00", 2e9: "$2G",
	} {
		if got := Money(v); got != want {
			t.Errorf("Money(%g) = %s; want %s", v, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for s, want := range map[float64]string{0: "0s", 0.25: "250 ms", 0.9994: "999 ms", 0.9998: "1 s", 59.2: "59.2 s", 7261: "2h1m", 2e9: "never"} {
		if got := Duration(s); got != want {
			t.Errorf("%g s: %q, want %q", s, got, want)
		}
	}
}
