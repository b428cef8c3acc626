package main

import (
	"fmt"
	"strconv"
	"strings"

	"knee/data"
)

// priceFlag collects --price a100=3.2, US$ per worker-hour by GPU type.
type priceFlag map[string]float64

func (p priceFlag) String() string { return "" }
func (p priceFlag) Type() string   { return "type=usd" }

func (p priceFlag) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		gpu, text, found := strings.Cut(part, "=")
		v, ok := data.NonNegative("US$ per worker-hour").Parse(text)
		if !found || gpu == "" || !ok {
			return fmt.Errorf("%q is no price, want GPU_TYPE=USD_PER_WORKER_HOUR such as a100=3.2", part)
		}
		p[strings.ToLower(gpu)] = v
	}
	return nil
}

// counts parses "1,2,4" and "1..64" (every number) and "1..64*2" (doubling).
func counts(flag, s string) ([]int, error) {
	wrong := &data.InputError{Source: data.Source{File: "--" + flag}, Found: strconv.Quote(s), Want: "numbers such as 1,2,4 or 1..16 or, doubling, 1..64*2"}
	var ns []int
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, ranged := strings.Cut(part, "..")
		if !ranged {
			hi = lo
		}
		hi, doubling := strings.CutSuffix(hi, "*2")
		from, err1 := strconv.Atoi(lo)
		to, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || from < 1 || to < from || to > 1<<20 || !doubling && to-from > 1<<16 {
			return nil, wrong
		}
		for n := from; n <= to; {
			ns = append(ns, n)
			if doubling {
				n *= 2
			} else {
				n++
			}
		}
	}
	return ns, nil
}
