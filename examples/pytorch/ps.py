"""Training with parameter servers over torch.distributed.rpc.

Ranks 0 to KNEE_WORKERS-1 are workers, the KNEE_PS after them are servers, each
of which holds a share of the parameters. A worker sends its gradients and gets
the new parameters back. In the mode ps-sync a server answers once the gradients
of all workers are in, and updates once; in ps-async it updates with each.

    knee profile ps.yaml
"""

import os
import threading
import time

import torch
import torch.distributed.rpc as rpc
from torch import nn

import knee_report
import workload


class Shard:
    """The parameters that one server holds, and what it does with gradients."""

    def __init__(self):
        self.lock = threading.Lock()
        self.ready = False

    def start(self, parameters, lr, wait_for):
        """Takes over parameters. wait_for is the number of workers whose
        gradients make one update."""
        self.parameters = [nn.Parameter(p) for p in parameters]
        self.optimizer = torch.optim.SGD(self.parameters, lr=lr, momentum=0.9)
        self.wait_for = wait_for
        self.updates = 0
        self.begin()
        self.ready = True

    def begin(self):
        self.arrived, self.sums = 0, None
        self.answer = torch.futures.Future()

    def push(self, gradients):
        """Takes one worker's gradients and returns a future of the number of
        updates and the parameters."""
        with self.lock:
            self.sums = gradients if self.sums is None else [a.add_(b) for a, b in zip(self.sums, gradients)]
            self.arrived += 1
            answer = self.answer
            if self.arrived == self.wait_for:
                for parameter, gradient in zip(self.parameters, self.sums):
                    parameter.grad = gradient / self.wait_for
                self.optimizer.step()
                self.updates += 1
                # A copy: in ps-async the next update may come before it is sent.
                done = (self.updates, [p.detach().clone() for p in self.parameters])
                self.begin()
                answer.set_result(done)
        return answer


SHARD = Shard()  # of this process, if it is a server


def start(parameters, lr, wait_for):
    SHARD.start(parameters, lr, wait_for)


def is_ready():
    return SHARD.ready


@rpc.functions.async_execution
def push(gradients):
    return SHARD.push(gradients)


def spread(parameters, servers):
    """Deals the parameters out, largest first, each to the server with the
    least so far. Returns the places of each server's parameters."""
    places, load = [[] for _ in range(servers)], [0] * servers
    for i in sorted(range(len(parameters)), key=lambda i: -parameters[i].numel()):
        least = load.index(min(load))
        places[least].append(i)
        load[least] += parameters[i].numel()
    return places


def work(args, rank, workers, servers, mode):
    """Trains as one worker."""
    torch.manual_seed(args.seed)
    model = workload.MODELS[args.model]()
    parameters = list(model.parameters())
    places = spread(parameters, servers)
    names = [f"ps{j}" for j in range(servers)]
    if rank == 0:
        for name, place in zip(names, places):
            rpc.rpc_sync(name, start, ([parameters[i].detach() for i in place], args.lr, workers if mode == "ps-sync" else 1))
    while not all(rpc.rpc_sync(name, is_ready) for name in names):
        time.sleep(0.05)
    pictures = workload.Pictures(args.batch, args.seed, rank, torch.device("cpu"))
    last, updates = time.perf_counter(), 0
    for _ in range(args.steps):
        model.zero_grad()
        loss = 0
        for _ in range(args.accum_steps + 1):
            inputs, labels = pictures.draw()
            part = nn.functional.cross_entropy(model(inputs), labels) / (args.accum_steps + 1)
            part.backward()
            loss += part.item()
        ready = time.perf_counter()
        answers = [rpc.rpc_async(name, push, ([parameters[i].grad for i in place],)) for name, place in zip(names, places)]
        for answer, place in zip(answers, places):
            count, fresh = answer.wait()
            with torch.no_grad():
                for i, value in zip(place, fresh):
                    parameters[i].copy_(value)
        now = time.perf_counter()
        # In ps-async other workers' updates count too: a step is one update.
        new = max(count - updates, 1)
        knee_report.report(count, step_time_s=(now - last) / new, sync_time_s=(now - ready) / new, loss=loss)
        last, updates = now, count


def main():
    parser = workload.arguments(__doc__.splitlines()[0])
    args = parser.parse_args()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    workers, servers = int(os.environ["KNEE_WORKERS"]), int(os.environ["KNEE_PS"])
    server = rank >= workers
    rpc.init_rpc(f"ps{rank - workers}" if server else f"worker{rank}", rank=rank, world_size=world,
                 rpc_backend_options=rpc.TensorPipeRpcBackendOptions(num_worker_threads=workers + 4, rpc_timeout=600))
    if not server:
        work(args, rank, workers, servers, os.environ.get("KNEE_MODE", "ps-sync"))
    rpc.shutdown()


if __name__ == "__main__":
    main()
