"""Data-parallel training with torch.nn.parallel.DistributedDataParallel.

Every worker is one process, told who it is by RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT: knee sets them, as torchrun does.

    knee profile ddp.yaml
    torchrun --nproc-per-node=2 ddp.py --model cnn --batch 32
"""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import knee_report
import workload

STATISTICS_EVERY = 5  # steps; the norms cost time that the training does not need


class LocalNorm:
    """Sums the squared norm of this worker's own gradient before the
    all-reduce makes it everybody's."""

    def __init__(self, parameters):
        self.wanted = False
        self.sqr = 0
        for parameter in parameters:
            parameter.register_hook(lambda grad, parameter=parameter: self.add(parameter, grad))

    def add(self, parameter, grad):
        if self.wanted:
            own = grad if parameter.grad is None else parameter.grad + grad  # earlier micro-steps
            self.sqr += own.double().pow(2).sum()

    def take(self):
        sqr, self.sqr = self.sqr, 0
        return sqr


def gradient(model):
    return torch.cat([p.grad.detach().double().flatten() for p in model.parameters()])


def statistics(stats, model, norm, previous, workers, samples):
    """Feeds stats with this step's gradients: one per worker, or those of two
    steps if there is one worker. Returns the gradient to compare the next
    step's with, None if there is no need for it."""
    mean = gradient(model)
    if workers > 1:
        sqr = norm.take()
        dist.all_reduce(sqr)
        stats.add(workers, sqr.item() / workers, mean.pow(2).sum().item(), samples)
        return None
    if previous is not None:
        both = (mean.pow(2).sum() + previous.pow(2).sum()).item() / 2
        stats.add(2, both, ((mean + previous) / 2).pow(2).sum().item(), 2 * samples)
    return mean


def main():
    parser = workload.arguments(__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=["auto", "gloo", "nccl"], default="auto", help="auto is nccl on GPUs and gloo otherwise")
    args = parser.parse_args()
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}.items():
        os.environ.setdefault(name, value)
    device = workload.device_of(args)
    backend = args.backend if args.backend != "auto" else "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend)
    rank, workers = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(args.seed)  # the same start everywhere
    if device.type == "cuda":
        torch.cuda.set_device(device)
    model = DistributedDataParallel(workload.MODELS[args.model]().to(device), device_ids=[device.index] if device.type == "cuda" else None)
    norm = LocalNorm(model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    pictures = workload.Pictures(args.batch, args.seed, rank, device)
    samples = workers * args.batch * (args.accum_steps + 1)
    stats = knee_report.GradientStatistics(args.initial_batch or samples)
    steps, previous = knee_report.Steps(), None

    def micro_step():
        inputs, labels = pictures.draw()
        loss = nn.functional.cross_entropy(model(inputs), labels) / (args.accum_steps + 1)
        loss.backward()
        return loss.detach()

    for step in range(args.steps):
        phase = step % STATISTICS_EVERY
        optimizer.zero_grad(set_to_none=True)
        loss = 0
        with model.no_sync():  # gradients are exchanged once per update
            for _ in range(args.accum_steps):
                loss += micro_step()
        norm.wanted = workers > 1 and phase == 0
        loss += micro_step()
        if norm.wanted:
            statistics(stats, model, norm, None, workers, samples)
            norm.wanted = False
        elif workers == 1 and phase < 2:
            previous = statistics(stats, model, norm, previous if phase == 1 else None, workers, samples)
        optimizer.step()
        steps.done(loss=loss.item(), **stats.values())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
