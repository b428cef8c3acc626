package data_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/data"
)

func TestParseQuantity(t *testing.T) {
	// The suffixes are those of Kubernetes resource quantities.
	tests := map[string]int64{
		"0": 0, "1024": 1024, "1Ki": 1024, "80Gi": 80 << 30, "80GiB": 80 << 30, "1.5Ti": 3 << 39, "512M": 512e6, "1k": 1000,
		"2GB": 2e9, "0.5Ki": 512, ".5Ki": 512, "7Ei": 7 << 60, "9223372036854775807": math.MaxInt64, "0.1Ki": 102,
	}
	for s, want := range tests {
		if got, err := data.ParseQuantity(s); got != want || err != nil {
			t.Errorf("ParseQuantity(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "Gi", "-1", "1e9", "1.2.3", ".", "1 Gi", "8Ei", "9223372036854775808", "NaN", "1Gb", strings.Repeat("9", 99)} {
		if got, err := data.ParseQuantity(s); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("ParseQuantity(%q) = %d, %v, want an error that says what is wanted", s, got, err)
		}
	}
}

func TestFormatQuantity(t *testing.T) {
	tests := map[int64]string{0: "0", 1: "1", 1025: "1025", 1024: "1Ki", 80 << 30: "80Gi", 96e9: "96G", 3 << 39: "1536Gi", math.MaxInt64: "9223372036854775807"}
	for n, want := range tests {
		if got := data.FormatQuantity(n); got != want {
			t.Errorf("FormatQuantity(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	tests := map[string]time.Duration{
		"0": 0, "90": 90 * time.Second, "1.5": 1500 * time.Millisecond, "6h": 6 * time.Hour, "2h30m": 150 * time.Minute,
		"2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, "10ms": 10 * time.Millisecond, "1e3": 1000 * time.Second,
	}
	for s, want := range tests {
		if got, err := data.ParseDuration(s); got != want || err != nil {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "d", "-1", "-1h", "1d-1h", "1h1d", "soon", "NaN", "Inf", "1e99", "200000d", "106751d24h", "0x10", "1h 5m", "2dd"} {
		if got, err := data.ParseDuration(s); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("ParseDuration(%q) = %v, %v, want an error that says what is wanted", s, got, err)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	tests := map[time.Duration]string{
		0: "0s", 6 * time.Hour: "6h", 90 * time.Second: "1m30s", 10 * time.Minute: "10m", 48 * time.Hour: "2d", 36 * time.Hour: "1d12h",
		24*time.Hour + time.Second: "1d1s", 20 * time.Second: "20s", -time.Hour: "-1h", time.Duration(math.MinInt64): "-2562047h47m16.854775808s",
	}
	for d, want := range tests {
		if got := data.FormatDuration(d); got != want {
			t.Errorf("FormatDuration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestQuantityDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Min(0).Draw(t, "n")
		if got, err := data.ParseQuantity(data.FormatQuantity(n)); got != n || err != nil {
			t.Fatalf("quantity %d: %q reads as %d, %v", n, data.FormatQuantity(n), got, err)
		}
		d := time.Duration(n)
		if got, err := data.ParseDuration(data.FormatDuration(d)); got != d || err != nil {
			t.Fatalf("duration %d: %q reads as %d, %v", d, data.FormatDuration(d), got, err)
		}
	})
}

func FuzzParseQuantity(f *testing.F) {
	f.Add("80Gi")
	f.Add("1.5TiB")
	f.Add("1d12h")
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := data.ParseQuantity(s); err == nil {
			if got, err := data.ParseQuantity(data.FormatQuantity(n)); got != n || err != nil {
				t.Fatalf("%q is %d, and %q reads as %d, %v", s, n, data.FormatQuantity(n), got, err)
			}
		}
		if d, err := data.ParseDuration(s); err == nil {
			if got, err := data.ParseDuration(data.FormatDuration(d)); got != d || err != nil {
				t.Fatalf("%q is %d, and %q reads as %d, %v", s, d, data.FormatDuration(d), got, err)
			}
		}
	})
}
