"""Logistic regression by stochastic gradient descent, with nothing but Python.

It stands for a training script that knows nothing of knee: its log is read by
the regular expression in study.yaml, and its settings are flags that the
study's command template fills in.
"""

import argparse
import math
import random
import time

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--features", type=int, default=64)
parser.add_argument("--steps", type=int, default=100_000)
args = parser.parse_args()

rng = random.Random(1)
truth = [rng.gauss(0, 1) for _ in range(args.features)]
weights = [0.0] * args.features

for step in range(1, args.steps + 1):
    start = time.perf_counter()
    gradient = [0.0] * args.features
    loss = 0.0
    for _ in range(args.batch):
        x = [rng.gauss(0, 1) for _ in range(args.features)]
        label = sum(a * b for a, b in zip(truth, x)) > 0
        score = sum(a * b for a, b in zip(weights, x))
        probability = 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))
        loss -= math.log(max(probability if label else 1 - probability, 1e-12))
        error = probability - label
        for i, value in enumerate(x):
            gradient[i] += error * value
    for i, value in enumerate(gradient):
        weights[i] -= 0.1 * value / args.batch
    seconds = time.perf_counter() - start
    print(f"step {step:6d}  loss {loss / args.batch:.4f}  {args.batch / seconds:,.1f} samples/s", flush=True)
