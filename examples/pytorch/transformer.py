"""A small transformer of which each process holds a part: its share of every
layer (tensor parallelism) of its stage (pipeline parallelism).

Shoeybi et al., "Megatron-LM" (2019), section 3: two all-reduces in the forward
and two in the backward pass of a layer.
"""

import math
import sys
import zlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Layout:
    """The place of this process: rank = tensor + tp·(replica + dp·stage), so
    that processes which share a layer are neighbours, on one node if it holds
    them. Without processes (tp = pp = dp = 1) it is the whole model."""

    def __init__(self, tp=1, pp=1, world=1, rank=0):
        if world % (tp * pp):
            sys.exit(f"layout.py: {world} processes are not a multiple of tp × pp = {tp} × {pp}")
        self.tp, self.pp, self.dp = tp, pp, world // (tp * pp)
        self.tensor, self.replica, self.stage = rank % tp, rank // tp % self.dp, rank // (tp * self.dp)
        self.first, self.last = self.stage == 0, self.stage == pp - 1
        self.previous, self.next = rank - tp * self.dp, rank + tp * self.dp
        if world > 1:
            self.tensor_group = group_of(rank, world, lambda r: r // tp)
            self.replica_group = group_of(rank, world, lambda r: (r // (tp * self.dp), r % tp))

    def sum(self, x):
        """Adds x up over the processes that share a layer."""
        if self.tp > 1:
            x = x.contiguous().clone()
            dist.all_reduce(x, group=self.tensor_group)
        return x

    def maximum(self, x):
        if self.tp > 1:
            dist.all_reduce(x, dist.ReduceOp.MAX, group=self.tensor_group)
        return x

    def share(self, full, split):
        """The part of a tensor that this process holds of dimension split."""
        return full if split is None else full.chunk(self.tp, split)[self.tensor]


def group_of(rank, world, key):
    """Makes a group of each set of ranks with the same key; returns rank's."""
    own = None
    for value in sorted({key(r) for r in range(world)}):
        ranks = [r for r in range(world) if key(r) == value]
        group = dist.new_group(ranks)
        own = group if rank in ranks else own
    return own


class Copy(torch.autograd.Function):
    """Into a column-parallel layer: all-reduce of the gradient (f in Megatron-LM)."""

    @staticmethod
    def forward(ctx, x, layout):
        ctx.layout = layout
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return ctx.layout.sum(gradient), None


class Reduce(torch.autograd.Function):
    """Out of a row-parallel layer: all-reduce of the result (g in Megatron-LM)."""

    @staticmethod
    def forward(ctx, x, layout):
        return layout.sum(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Part(nn.Module):
    """A module with parameters of which this process may hold a share. The
    whole parameter follows from its name, so that every layout trains the same
    model."""

    def __init__(self, layout, name):
        super().__init__()
        self.layout, self.name = layout, name

    def parameter(self, name, shape, split=None, mean=0.0, deviation=0.02):
        name = f"{self.name}.{name}"
        whole = torch.randn(shape, generator=torch.Generator().manual_seed(zlib.crc32(name.encode()))) * deviation + mean
        p = nn.Parameter(self.layout.share(whole, split).clone())
        p.whole_name, p.split = name, split
        return p


class Linear(Part):
    """A linear layer with its weight split by outputs (column-parallel, split
    = 0) or by inputs (row-parallel, split = 1)."""

    def __init__(self, layout, name, inputs, outputs, split):
        super().__init__(layout, name)
        self.split = split
        self.weight = self.parameter("weight", (outputs, inputs), split)
        self.bias = self.parameter("bias", (outputs,), 0 if split == 0 else None)

    def forward(self, x):
        if self.split == 0:
            return F.linear(Copy.apply(x, self.layout), self.weight, self.bias)
        return Reduce.apply(F.linear(x, self.weight), self.layout) + self.bias


class Norm(Part):
    def __init__(self, layout, name, hidden):
        super().__init__(layout, name)
        self.weight, self.bias = self.parameter("weight", (hidden,), mean=1.0), self.parameter("bias", (hidden,))

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.weight, self.bias)


class Block(nn.Module):
    """Causal self-attention and a feed-forward network, each column-parallel
    and then row-parallel; heads are split over the processes."""

    def __init__(self, layout, name, args):
        super().__init__()
        self.width = args.hidden // args.heads  # of a head
        self.norm1, self.norm2 = Norm(layout, name + ".norm1", args.hidden), Norm(layout, name + ".norm2", args.hidden)
        self.qkv = Linear(layout, name + ".qkv", args.hidden, 3 * args.hidden, 0)  # by head: q, k, v
        self.out = Linear(layout, name + ".out", args.hidden, args.hidden, 1)
        self.up = Linear(layout, name + ".up", args.hidden, 4 * args.hidden, 0)
        self.down = Linear(layout, name + ".down", 4 * args.hidden, args.hidden, 1)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (-1, 3, self.width)).permute(3, 0, 2, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.width)
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        mixed = scores.masked_fill(future, -math.inf).softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).flatten(-2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Ends(Part):
    """Embeddings on the first stage, and the loss on the last: cross-entropy
    over a vocabulary split over the processes."""

    def __init__(self, layout, args):
        super().__init__(layout, "ends")
        if layout.first:
            self.words, self.places = self.parameter("words", (args.vocab, args.hidden)), self.parameter("places", (args.seq_len, args.hidden))
        if layout.last:
            self.norm, self.head = Norm(layout, "ends.norm", args.hidden), Linear(layout, "ends.head", args.hidden, args.vocab, 0)

    def embed(self, tokens):
        return F.embedding(tokens, self.words) + self.places

    def loss(self, x, targets):
        logits = self.head(self.norm(x)).to(x.dtype)
        logits = logits - self.layout.maximum(logits.detach().amax(-1)).unsqueeze(-1)
        columns = logits.shape[-1]
        local = targets - columns * self.layout.tensor
        here = (local >= 0) & (local < columns)
        wanted = logits.gather(-1, local.clamp(0, columns - 1).unsqueeze(-1)).squeeze(-1) * here
        sums = Reduce.apply(torch.stack([logits.exp().sum(-1), wanted]), self.layout)
        return (sums[0].log() - sums[1]).mean()


class Stage(nn.Module):
    """The consecutive layers of one pipeline stage."""

    def __init__(self, layout, args):
        super().__init__()
        self.layout, self.recompute, self.half = layout, args.recompute == "full", args.precision == "bfloat16"
        self.sharded = False
        self.ends = Ends(layout, args)
        begin, end = (args.layers * s // layout.pp for s in (layout.stage, layout.stage + 1))
        self.blocks = nn.ModuleList(Block(layout, f"block{i}", args) for i in range(begin, end))

    def forward(self, x, tokens):
        with torch.autocast(tokens.device.type, torch.bfloat16, enabled=self.half):
            if self.layout.first:
                x = self.ends.embed(tokens[:, :-1])
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False) if self.recompute else block(x)
            return self.ends.loss(x, tokens[:, 1:]) if self.layout.last else x

    def shard(self, device):
        """Divides parameters, gradients and optimizer state among the replicas:
        PyTorch gathers a layer while it is computed (FSDP)."""
        from torch.distributed.device_mesh import DeviceMesh  # not in every PyTorch
        from torch.distributed.fsdp import fully_shard
        whole = dict(self.named_parameters())
        mesh = DeviceMesh.from_group(self.layout.replica_group, device.type)
        for module in (*self.blocks, self):
            fully_shard(module, mesh=mesh)
            if dist.get_backend() == "gloo":
                module.set_force_sum_reduction_for_comms(True)  # gloo does not average
        for name, p in self.named_parameters():
            p.whole_name, p.split = whole[name].whole_name, whole[name].split
        self.sharded = True
