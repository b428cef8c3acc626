package plan

import "testing"

func TestRate(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.0001234: "0.000123", 0.5: "0.5", 1: "1", 1.234: "1.23", 99.96: "100", 123.4: "123", 999.6: "1,000",
		1234: "1,230", 10834: "10,800", 1e6: "1,000,000", 123456789: "123,000,000", -1234: "-1,230",
	} {
		if got := rate(v); got != want {
			t.Errorf("rate(%v) = %s, want %s", v, got, want)
		}
	}
}
