package main

import (
	"github.com/spf13/cobra"

	"knee/allocate/shard"
	"knee/data"
)

func newShard(a *app) *cobra.Command {
	var servers int
	cmd := answering("shard SHAPES --ps N", func(_ *cobra.Command, args []string, out format) error {
		tensors, err := data.Load(args[0], shard.Read)
		if err != nil {
			return err
		}
		res := shardResult{Tensors: len(tensors), Elements: shard.Total(tensors)}
		if res.Assignments, err = shard.Compare(tensors, servers); err != nil {
			return usageError("%w", err)
		}
		t := newTable("method,ps,largest_elements,size_spread,request_spread,requests")
		for _, a := range res.Assignments {
			t.add(a.Method, len(a.Servers), a.Largest, a.SizeSpread, a.RequestSpread, a.Requests)
		}
		return out.print(a.stdout, res, t)
	})
	cmd.Flags().IntVar(&servers, "ps", 0, "number of parameter servers")
	required(cmd, "ps")
	return cmd
}

type shardResult struct {
	Tensors     int                `json:"tensors"`
	Elements    int64              `json:"elements"`
	Assignments []shard.Assignment `json:"assignments"`
}
