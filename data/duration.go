package data

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// ParseDuration reads a duration ≥ 0: the form of [time.ParseDuration]
// ("2h30m"), optionally after days ("1d12h", "1.5d"), or plain seconds ("90").
func ParseDuration(s string) (time.Duration, error) {
	bad := fmt.Errorf("duration %q: want a time ≥ 0 such as 90s, 2h30m, 1d12h or plain seconds", s)
	if v, err := plainNumber(s); err == nil {
		return scaleDuration(v, time.Second, bad)
	}
	var total time.Duration
	rest := s
	if days, after, found := strings.Cut(s, "d"); found {
		v, err := plainNumber(days)
		if err != nil {
			return 0, bad
		}
		if total, err = scaleDuration(v, day, bad); err != nil {
			return 0, err
		}
		rest = after
	}
	if rest == "" && rest != s {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || strings.ContainsAny(rest, "+-") || total > math.MaxInt64-d {
		return 0, bad
	}
	return total + d, nil
}

// plainNumber reads digits with a point or an exponent, but not other forms
// that strconv takes, such as Inf or 0x1p4.
func plainNumber(s string) (float64, error) {
	if strings.Trim(s, "0123456789.e") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}

// scaleDuration returns v units, or bad if that is no duration.
func scaleDuration(v float64, unit time.Duration, bad error) (time.Duration, error) {
	d := math.Round(v * float64(unit))
	if !(d >= 0 && d < math.MaxInt64) {
		return 0, bad
	}
	return time.Duration(d), nil
}

// FormatDuration returns a short text that [ParseDuration] reads back as
// exactly d, for d ≥ 0: "6h", "2d", "1d12h", "1m30s".
func FormatDuration(d time.Duration) string {
	if d == math.MinInt64 {
		return d.String() // has no positive counterpart
	}
	if d < 0 {
		return "-" + FormatDuration(-d) // for messages; no reader takes it
	}
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
