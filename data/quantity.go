package data

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// quantityUnits are the suffixes of ParseQuantity, as in Kubernetes; those of 1024 first, to
// be preferred in writing.
func quantityUnits() []quantityUnit {
	return []quantityUnit{
		{"Ei", 1 << 60}, {"Pi", 1 << 50}, {"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10},
		{"E", 1e18}, {"P", 1e15}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"K", 1e3},
	}
}

type quantityUnit struct {
	suffix string
	bytes  int64
}

// ParseQuantity reads an amount of memory: "80Gi", "1.5Ti", "512M", "80GiB", "1024". It is
// rounded to whole bytes; it must be ≥ 0 and fit an int64.
func ParseQuantity(s string) (int64, error) {
	number, unit := strings.TrimSuffix(s, "B"), int64(1)
	for _, u := range quantityUnits() {
		if rest, found := strings.CutSuffix(number, u.suffix); found {
			number, unit = rest, u.bytes
			break
		}
	}
	bad := fmt.Errorf("quantity %q: want bytes ≥ 0 such as 80Gi, 1.5Ti, 512M or 1024", s)
	// Digits and one point only: an exponent could give a huge number.
	if number == "" || len(number) > 40 || strings.Trim(number, "0123456789.") != "" {
		return 0, bad
	}
	amount, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, bad
	}
	amount.Mul(amount, new(big.Rat).SetInt64(unit))
	amount.Add(amount, big.NewRat(1, 2))
	bytes := new(big.Int).Quo(amount.Num(), amount.Denom())
	if !bytes.IsInt64() {
		return 0, fmt.Errorf("quantity %q: want at most %d bytes", s, int64(1<<63-1))
	}
	return bytes.Int64(), nil
}

// FormatQuantity returns the shortest text that reads back exactly: "80Gi", "96G", "1025".
func FormatQuantity(bytes int64) string {
	best := strconv.FormatInt(bytes, 10)
	if bytes == 0 {
		return best
	}
	for _, u := range quantityUnits() {
		if bytes%u.bytes != 0 {
			continue
		}
		if s := strconv.FormatInt(bytes/u.bytes, 10) + u.suffix; len(s) < len(best) || (len(s) == len(best) && best[len(best)-1] <= '9') {
			best = s
		}
	}
	return best
}

const day = 24 * time.Hour

// ParseDuration reads a duration ≥ 0: "2h30m", "1d12h", "1.5d", or plain seconds.
func ParseDuration(s string) (time.Duration, error) {
	const digits = "0123456789.e" // not other forms that strconv takes, such as Inf or 0x1p4
	number, unit, rest := s, time.Second, "0"
	if days, after, found := strings.Cut(s, "d"); found {
		number, unit, rest = days, day, cmp.Or(after, rest)
	} else if strings.Trim(s, digits) != "" {
		number, rest = "0", s
	}
	v, err := strconv.ParseFloat(number, 64)
	more, bad := time.ParseDuration(rest)
	d := math.Round(v * float64(unit))
	if err != nil || bad != nil || strings.Trim(number, digits) != "" || strings.ContainsAny(rest, "+-") || d >= math.MaxInt64 || time.Duration(d) > math.MaxInt64-more {
		return 0, fmt.Errorf("duration %q: want a time ≥ 0 such as 90s, 2h30m, 1d12h or plain seconds", s)
	}
	return time.Duration(d) + more, nil
}

// FormatDuration returns a short text that reads back as d ≥ 0: "6h", "1d12h", "1m30s".
func FormatDuration(d time.Duration) string {
	var days string
	if d >= day {
		days = strconv.FormatInt(int64(d/day), 10) + "d"
		if d %= day; d == 0 {
			return days
		}
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return days + s
}
