"""What ddp.py and ps.py train: two small classifiers on generated pictures."""

import argparse
import os

import torch
from torch import nn

CLASSES, CHANNELS, SIDE = 10, 3, 32


def arguments(description):
    """Returns the parser with the flags that both scripts have. Where knee
    starts the script, its configuration is in the environment already."""
    env = os.environ.get
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", choices=sorted(MODELS), default="cnn")
    parser.add_argument("--batch", type=int, default=int(float(env("KNEE_LOCAL_BATCH", "32"))), help="samples per worker and micro-step")
    parser.add_argument("--accum-steps", type=int, default=int(env("KNEE_ACCUM_STEPS", "0")), help="extra micro-steps before each update")
    parser.add_argument("--initial-batch", type=float, default=float(env("KNEE_INITIAL_BATCH", "0")),
                        help="global batch that gradient variance is reported at (default: the batch itself)")
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--seed", type=int, default=1)
    return parser


def device_of(args):
    """Returns the device of this process: its own GPU, or the processor."""
    if args.device == "cpu" or (args.device == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())


def cnn():
    """Much arithmetic, few parameters: 117 thousand."""
    return nn.Sequential(
        nn.Conv2d(CHANNELS, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 4 * 4, 60), nn.ReLU(), nn.Linear(60, CLASSES))


def mlp():
    """Little arithmetic, many parameters: 4.2 million."""
    width = 1024
    return nn.Sequential(
        nn.Flatten(), nn.Linear(CHANNELS * SIDE * SIDE, width), nn.ReLU(),
        nn.Linear(width, width), nn.ReLU(), nn.Linear(width, CLASSES))


MODELS = {"cnn": cnn, "mlp": mlp}


class Pictures:
    """Endless batches: a pattern per class under noise, so that the loss falls
    as it does on real data, and nothing has to be downloaded. Every worker
    draws its own."""

    def __init__(self, batch, seed, worker, device):
        shared = torch.Generator().manual_seed(seed)
        self.own = torch.Generator().manual_seed(seed * 7919 + worker + 1)
        self.patterns = torch.randn(CLASSES, CHANNELS, SIDE, SIDE, generator=shared)
        self.noise = torch.randn(256, CHANNELS, SIDE, SIDE, generator=self.own)
        self.batch, self.device = batch, device

    def draw(self):
        """Returns pictures and labels of one micro-step."""
        labels = torch.randint(CLASSES, (self.batch,), generator=self.own)
        noise = torch.randint(len(self.noise), (self.batch,), generator=self.own)
        pictures = 0.3 * self.patterns[labels] + self.noise[noise]
        return pictures.to(self.device), labels.to(self.device)
