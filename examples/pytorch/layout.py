"""Trains a small transformer with tensor, pipeline and data parallelism.

Of tp × pp × dp processes, tp share each layer, pp hold a stage of consecutive
layers each and dp replicas average their gradients; with --sharding each of
them keeps a part of the optimizer's state (zero1), or of the parameters and
gradients too (zero3). Processes with a GPU of their own use nccl, others gloo.

    knee profile layout.yaml
    torchrun --nproc-per-node=4 layout.py --tp 2 --pp 2 --batch 4 --accum-steps 3
    python3 layout.py --verify --tp 2 --pp 2 --dp 2     # against one process

The pipeline is 1F1B with a flush: Narayanan et al., "Efficient Large-Scale
Language Model Training on GPU Clusters" (2021), section 2.2, figure 4.
"""

import argparse
import os
import sys
from collections import deque

import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.utils import parameters_to_vector, vector_to_parameters

import knee_report
from transformer import Layout, Stage


def swap(peer, there, shape_of=None, send=None):
    """Sends a tensor to a neighbouring stage, and receives one like shape_of
    from it, at the same time: either alone may block the other stage. Does
    nothing if the neighbour is not there."""
    if not there:
        return None
    device = "cpu" if dist.get_backend() == "gloo" else None  # what gloo sends lies in the memory of the host
    received = None if shape_of is None else torch.empty_like(shape_of, device=device)
    send = None if send is None else send.to(device or send.device)
    ops = [dist.P2POp(op, t, peer) for op, t in ((dist.isend, send), (dist.irecv, received)) if t is not None]
    for request in dist.batch_isend_irecv(ops) if ops else ():
        request.wait()
    return None if received is None else received.to(shape_of.device)


def gradients(stage, batch, like):
    """Computes the gradients of the micro-batches in batch, one forward and one
    backward in turn once the pipeline is filled. like is a tensor of the shape
    that stages exchange. Returns the mean loss on the last stage, 0 elsewhere."""
    at, micro_steps = stage.layout, len(batch)
    tokens, waiting, losses = iter(batch), deque(), []

    def forward(x):
        y = stage(None if x is None else x.requires_grad_(), next(tokens))
        if at.last:
            y = y / micro_steps
            losses.append(y.detach())
        waiting.append((x, y))
        return y.detach()

    def backward(gradient):
        x, y = waiting.popleft()
        y.backward(gradient)
        return None if x is None else x.grad

    warm = min(at.pp - 1 - at.stage, micro_steps)
    for _ in range(warm):
        swap(at.next, True, send=forward(swap(at.previous, not at.first, like)))
    steady = micro_steps - warm
    x = swap(at.previous, not at.first, like) if steady else None
    for i in range(steady):
        gradient = swap(at.next, not at.last, like, forward(x))
        x = swap(at.previous, not at.first, like if i + 1 < steady else None, backward(gradient))
    for _ in range(warm):
        swap(at.previous, not at.first, send=backward(swap(at.next, True, like)))
    if at.dp > 1 and not stage.sharded:
        own = [p.grad for p in stage.parameters()]
        mean = parameters_to_vector(own) / at.dp
        dist.all_reduce(mean, group=at.replica_group)
        vector_to_parameters(mean, own)
    return torch.stack(losses).sum().item() if losses else 0.0


def batch_of(step, samples, args):
    """Sequences that count in strides, which the model can learn."""
    generator = torch.Generator().manual_seed(args.seed * 1_000_003 + step)
    start, stride = torch.randint(args.vocab, (samples, 1), generator=generator), torch.randint(1, 5, (samples, 1), generator=generator)
    return (start + stride * torch.arange(args.seq_len + 1)) % args.vocab


def train(layout, args, steps, device):
    """Trains, and yields the stage and its mean loss after each step."""
    stage = Stage(layout, args).to(device)
    if args.sharding == "zero3" and layout.dp > 1:
        stage.shard(device)
    if args.sharding == "zero1" and layout.dp > 1:
        optimizer = ZeroRedundancyOptimizer(stage.parameters(), torch.optim.Adam, layout.replica_group, lr=args.lr)
    else:
        optimizer = torch.optim.Adam(stage.parameters(), lr=args.lr)
    micro_steps = args.accum_steps + 1
    like = torch.empty(args.batch, args.seq_len, args.hidden, device=device)
    for step in range(steps):
        optimizer.zero_grad(set_to_none=True)
        tokens = batch_of(step, layout.dp * micro_steps * args.batch, args).chunk(layout.dp)[layout.replica]
        loss = gradients(stage, tokens.to(device).split(args.batch), like)
        optimizer.step()
        yield stage, loss


def gathered(values):
    """The values of all processes, a row each."""
    own = torch.tensor(values, dtype=torch.float64, device=torch.cuda.current_device() if dist.get_backend() == "nccl" else "cpu")
    rows = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, own)
    return torch.stack(rows).cpu()


def verify(rank, args):
    """Compares losses, gradients and parameters of three steps with those of
    one process that computes the same micro-batches, in float64."""
    torch.set_default_dtype(torch.float64)
    layout = join(rank, args)
    alone = argparse.Namespace(**{**vars(args), "accum_steps": (args.accum_steps + 1) * layout.dp - 1, "recompute": "none", "sharding": "none"})
    cpu = torch.device("cpu")
    worst = [0.0, 0.0, 0.0]  # of loss, gradients, parameters
    for (stage, loss), (whole, wanted) in zip(train(layout, args, 3, cpu), train(Layout(), alone, 3, cpu)):
        rows = gathered([loss * layout.last])
        worst[0] = max(worst[0], abs(rows.sum().item() / (layout.tp * layout.dp) - wanted))
        named = {p.whole_name: p for p in whole.parameters()}
        for p in stage.parameters():
            for i, (mine, full) in enumerate([(p.grad, named[p.whole_name].grad), (p, named[p.whole_name])]):
                mine = mine.full_tensor() if stage.sharded else mine
                worst[i + 1] = max(worst[i + 1], ((mine - layout.share(full, p.split)).abs().max() / full.abs().max()).item())
    worst = gathered(worst).amax(0).tolist()
    if rank == 0:
        print("tp {} pp {} dp {}: largest difference from one process: loss {:.1e}, gradients {:.1e}, parameters {:.1e}".format(
            layout.tp, layout.pp, layout.dp, *worst))
    dist.destroy_process_group()
    if max(worst) > 1e-6:  # Adam divides gradients by their size: what rounds to nothing counts there
        sys.exit("this is not what one process computes")


def join(rank, args):
    own_gpu = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) <= torch.cuda.device_count() and not args.verify
    backend = "nccl" if own_gpu else "gloo"
    dist.init_process_group(backend, rank=rank, world_size=int(os.environ["WORLD_SIZE"]))
    return Layout(args.tp, args.pp, dist.get_world_size(), rank)


def arguments():
    env = os.environ.get
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default, help in (
            ("tp", env("KNEE_TP", "1"), "processes that share each layer"), ("pp", env("KNEE_PP", "1"), "pipeline stages"),
            ("dp", "1", "replicas, with --verify; else what the number of processes leaves"),
            ("batch", float(env("KNEE_LOCAL_BATCH", "4")), "sequences per replica and micro-step"),
            ("accum-steps", env("KNEE_ACCUM_STEPS", "0"), "micro-batches beyond the first"), ("layers", 4, None), ("hidden", 128, None),
            ("heads", 4, None), ("seq-len", 32, None), ("vocab", 256, None), ("steps", 1_000_000, None), ("seed", 1, None)):
        parser.add_argument("--" + name, type=int, default=int(default), help=help)
    parser.add_argument("--recompute", choices=["none", "full"], default=env("KNEE_RECOMPUTE", "none"), help="compute activations again in the backward pass")
    parser.add_argument("--sharding", choices=["none", "zero1", "zero3"], default=env("KNEE_SHARDING", "none"), help="divide the optimizer's state (zero1), or parameters and gradients too (zero3), among the replicas")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32", help="of matrix products")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--verify", action="store_true", help="compare with one process")
    args = parser.parse_args()
    for what, count in (("tp", args.heads), ("tp", args.vocab)):
        if count % args.tp:
            parser.error(f"--{what} {args.tp} does not divide {count} heads or rows of the vocabulary")
    if args.sharding == "zero3" and tuple(map(int, torch.__version__.split(".")[:2])) < (2, 8):
        parser.error(f"--sharding zero3 needs PyTorch 2.8 or newer, this is {torch.__version__}")
    if args.pp > args.layers:
        parser.error(f"--pp {args.pp} is more than {args.layers} layers")
    return args


def main():
    args = arguments()
    for name, value in {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}.items():
        os.environ.setdefault(name, value)
    if args.verify:
        os.environ["WORLD_SIZE"] = str(args.tp * args.pp * args.dp)
        return torch.multiprocessing.spawn(verify, (args,), args.tp * args.pp * args.dp)
    os.environ.setdefault("WORLD_SIZE", "1")
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        torch.cuda.set_device(device)
    layout = join(int(os.environ.get("RANK", "0")), args)
    if dist.get_rank() == 0:
        print(f"layout: tp {layout.tp}, pp {layout.pp}, dp {layout.dp}, batch {args.batch}, micro-steps {args.accum_steps + 1}, recompute {args.recompute}, sharding {args.sharding}", flush=True)
    steps = knee_report.Steps()
    for _, loss in train(layout, args, args.steps, device):
        rows = gathered([loss * layout.last, knee_report.peak_memory_bytes()])
        steps.done(loss=rows[:, 0].sum().item() / (layout.tp * layout.dp), peak_memory_bytes=rows[:, 1].max().item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
