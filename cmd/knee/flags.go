package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"knee/bayesopt/baseline"
	"knee/data"
	"knee/profile"
)

// choice is a flag with one of a few values.
type choice[S ~string] struct {
	to   *S
	of   []string
	kind string
}

func (c choice[S]) String() string { return string(*c.to) }
func (c choice[S]) Type() string   { return c.kind }

func (c choice[S]) Set(s string) error {
	if !slices.Contains(c.of, s) {
		return fmt.Errorf("want %s", strings.Join(c.of, ", "))
	}
	*c.to = S(s)
	return nil
}

// oneOf adds a flag that takes one of names, by default the first.
func oneOf[S ~string](cmd *cobra.Command, to *S, flag, usage string, names ...string) {
	*to = S(names[0])
	choose(cmd, to, flag, usage+": "+strings.Join(names, ", "), names...)
}

// choose adds a flag that takes one of names, by default what it is now.
func choose[S ~string](cmd *cobra.Command, to *S, flag, usage string, names ...string) {
	cmd.Flags().Var(choice[S]{to, names, "string"}, flag, usage)
	completes(cmd, flag, names)
}

// named adds a flag whose names are those of a package, which checks them.
func named(cmd *cobra.Command, to *string, flag, byDefault, usage string, names []string) {
	cmd.Flags().StringVar(to, flag, byDefault, usage+": "+strings.Join(names, ", "))
	completes(cmd, flag, names)
}

// completes lets the shell complete the value of a flag from names.
func completes(cmd *cobra.Command, flag string, names []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// completesList does so for a flag of several names with commas between them,
// each of which is offered once.
func completesList(cmd *cobra.Command, flag string, names []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var offered []string
		for _, n := range names {
			if !strings.Contains(","+before, ","+n+",") {
				offered = append(offered, before+n)
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// fileFlag adds a flag that names a file, completed by its extensions.
func fileFlag(cmd *cobra.Command, to *string, flag, usage string, extensions ...string) {
	cmd.Flags().StringVar(to, flag, "", usage)
	_ = cmd.MarkFlagFilename(flag, extensions...)
}

func required(cmd *cobra.Command, flags ...string) {
	for _, f := range flags {
		_ = cmd.MarkFlagRequired(f)
	}
}

// numberFlag is a flag that takes a number within bounds.
type numberFlag[N int | float64] struct {
	to     *N
	within data.Bounds
}

func (n numberFlag[N]) String() string { return strconv.FormatFloat(float64(*n.to), 'g', -1, 64) }
func (n numberFlag[N]) Type() string   { return strings.TrimSuffix(fmt.Sprintf("%T", *n.to), "64") }

func (n numberFlag[N]) Set(s string) error {
	v, ok := n.within.Parse(s)
	if !ok {
		return errors.New("want " + n.within.Instead(s))
	}
	*n.to = N(v)
	return nil
}

// bounded adds a flag that takes a number within bounds, by default what it is now.
func bounded[N int | float64](cmd *cobra.Command, to *N, flag, usage string, within data.Bounds) {
	cmd.Flags().Var(numberFlag[N]{to, within}, flag, usage)
}

// atLeast are whole numbers from least on.
func atLeast(least int) data.Bounds {
	b := data.Count(least)
	b.Want = fmt.Sprintf("at least %d", least)
	return b
}

func shares() data.Bounds { return data.Bounds{Max: 1, Want: "a number from 0 to 1"} }

// positive are numbers > 0 beyond which times and costs would overflow.
func positive(what string) data.Bounds {
	b := data.Positive(what)
	b.Max = 1e15
	return b
}

func amounts() data.Bounds {
	b := data.Bytes()
	b.Min, b.Want = 1, "bytes such as 102M or 12.5Gi"
	return b
}

// priceFlag collects --price a100=3.2, US$ per worker-hour by GPU type.
type priceFlag map[string]float64

func (p priceFlag) set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		gpu, text, found := strings.Cut(part, "=")
		v, ok := data.NonNegative("US$ per worker-hour").Parse(text)
		if !found || gpu == "" || !ok {
			return fmt.Errorf("%q is no price, want GPU_TYPE=USD_PER_WORKER_HOUR such as a100=3.2", part)
		}
		p[data.GPUTypeOf(gpu)] = v
	}
	return nil
}

// unknown warns of prices for types that a cluster or model does not have.
func (p priceFlag) unknown(of string, types []string) (warnings []string) {
	types = slices.DeleteFunc(slices.Clone(types), func(name string) bool { return name == "" })
	known := cmp.Or(strings.Join(slices.Compact(slices.Sorted(slices.Values(types))), ", "), "GPUs without a type")
	for _, gpu := range slices.Sorted(maps.Keys(p)) {
		if !slices.Contains(types, gpu) {
			warnings = append(warnings, fmt.Sprintf("--price %s: %s has no such GPUs, only %s", gpu, of, known))
		}
	}
	return warnings
}

func priced(cmd *cobra.Command, to *priceFlag) {
	*to = priceFlag{}
	cmd.Flags().Func("price", "US$ per worker-hour, such as `a100=3.2`", to.set)
}

const columnsUsage = "names of columns, such as gpus=workers,tokens_s=tokens_per_s"

const workersUsage = "numbers of workers: 1,2,4 or 1..16 or 1..64*2 (default: up to twice the most measured)"

// counts parses "1,2,4", "1..64" (every number) and "1..64*2" (doubling); nil if empty.
func counts(flag, s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	var ns []int
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, ranged := strings.Cut(part, "..")
		if !ranged {
			hi = lo
		}
		hi, doubling := strings.CutSuffix(hi, "*2")
		from, err1 := strconv.Atoi(lo)
		to, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || from < 1 || to < from || to > 1<<20 || !doubling && to-from >= 1<<16 {
			return nil, badFile("--"+flag, strconv.Quote(s), "numbers such as 1,2,4 or 1..16 or, for more than 65536, doubling: 1..64*2, up to 1048576")
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

type searchFlags struct {
	profile.Search
	warm string
}

func (f *searchFlags) add(cmd *cobra.Command) {
	named(cmd, &f.Strategy, "strategy", baseline.Guided, "strategy", baseline.Strategies())
	cmd.Flags().BoolVar(&f.Once, "once", false, "never repeat a measurement")
	f.TargetRegret = 0.05
	bounded(cmd, &f.TargetRegret, "target-regret", "stop when a result better by this share is improbable", data.Bounds{Min: 1e-4, Max: .999, Want: "a share from 0.0001 to less than 1"})
	fileFlag(cmd, &f.warm, "warm-start", "model.json of a similar job", "json", "gz")
}

func (f *searchFlags) load() (err error) {
	if f.warm != "" {
		f.Warm, err = readModel(f.warm)
	}
	return err
}
