package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"knee/allocate/shard"
)

func newShard(a *app) *cobra.Command {
	var servers int
	var methods []string
	var out format
	cmd := &cobra.Command{
		Use:   "shard SHAPES --ps N",
		Short: "Divide a model's tensors among parameter servers",
		Long: `shard assigns the tensors of a model to parameter servers by Optimus's rule (paa)
and as frameworks do by default (mxnet, round-robin), and compares how far the
servers differ in elements and requests, and how many requests a step makes. With
-o json it lists what each server holds.

SHAPES is a CSV with a row for each tensor and the columns name and shape: such as
64x3x7x7, or a number of elements.`,
		Example: `  knee shard resnet50.csv --ps 10
  knee shard resnet50.csv --ps 10 --method paa -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			tensors, err := shard.Load(args[0])
			if err != nil {
				return err
			}
			res := shardResult{Tensors: len(tensors), Elements: shard.Total(tensors)}
			for _, m := range methods {
				made, err := shard.Assign(m, tensors, servers)
				if err != nil {
					return usageError{err}
				}
				res.Assignments = append(res.Assignments, made)
			}
			return out.print(a.stdout, res, res.table())
		},
	}
	f := cmd.Flags()
	f.IntVar(&servers, "ps", 0, "number of parameter servers")
	f.StringSliceVar(&methods, "method", []string{"paa", "mxnet", "round-robin"}, "how to assign: "+strings.Join(shard.Methods(), ", "))
	_ = cmd.MarkFlagRequired("ps")
	completesList(cmd, "method", shard.Methods())
	formatFlag(cmd, &out)
	return cmd
}

// shardResult is what shard prints.
type shardResult struct {
	Tensors     int                `json:"tensors"`
	Elements    int64              `json:"elements"`
	Assignments []shard.Assignment `json:"assignments"`
}

func (r shardResult) table() table {
	t := table{columns: []string{"method", "ps", "largest_elements", "size_spread", "request_spread", "requests"}}
	for _, a := range r.Assignments {
		t.add(a.Method, fmt.Sprint(len(a.Servers)), fmt.Sprint(a.Largest), fmt.Sprint(a.SizeSpread), fmt.Sprint(a.RequestSpread), fmt.Sprint(a.Requests))
	}
	return t
}
