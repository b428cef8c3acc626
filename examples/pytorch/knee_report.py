"""Print the lines that `knee profile` reads. Copy this file beside your script.

It needs nothing but Python. The whole of it in a training loop:

    import knee_report
    steps = knee_report.Steps()
    for batch in loader:
        ...                           # forward, backward, optimizer.step()
        steps.done(loss=loss.item())  # prints how long this step took

Only the process with RANK 0 prints; a process without RANK does too. On a GPU,
reading the loss waits until the step has been computed; if you do not report
it, call torch.cuda.synchronize() first.
"""

import json
import math
import os
import sys
import time


def report(step, **values):
    """Prints one step: step_time_s, sync_time_s, throughput (samples/s), loss,
    grad_sqr, grad_var, peak_memory_bytes, any of them. Values that are None or
    not finite are left out."""
    if int(os.environ.get("RANK", "0")) != 0:
        return
    line = {"step": step}
    for name, value in values.items():
        if value is not None and math.isfinite(float(value)):
            line[name] = float(value)
    # One write, so that lines of several processes do not mix.
    sys.stdout.write("knee: " + json.dumps(line) + "\n")
    sys.stdout.flush()


def peak_memory_bytes():
    """The most memory this process has held: what PyTorch allocated on its GPU,
    else its resident set, in a pod or a Slurm task all that this is charged."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return torch.cuda.max_memory_allocated()
    try:
        with open("/proc/self/cgroup") as f:
            own = f.read().splitlines()[-1].partition("::")[2]
        if "KUBERNETES_SERVICE_HOST" in os.environ or "/job_" in own and "/task_" in own:  # not one that others share
            with open("/sys/fs/cgroup" + own + "/memory.peak") as f:
                return int(f.read())
    except (OSError, ValueError):
        pass  # Linux before 5.19, or cgroup v1
    try:
        import resource
    except ImportError:
        return None  # Windows
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


class Steps:
    """Times the steps of a training loop from one call of done to the next."""

    def __init__(self, first=0):
        self.step = first
        self.last = time.perf_counter()

    def done(self, **values):
        """Reports that a step has ended, and the memory of this process."""
        now = time.perf_counter()
        self.step += 1
        values.setdefault("peak_memory_bytes", peak_memory_bytes())
        report(self.step, step_time_s=now - self.last, **values)
        self.last = time.perf_counter()  # printing is not part of the next step


class GradientStatistics:
    """Smoothed estimates of |E g|^2 and of the trace of the covariance of a
    gradient of `initial` samples, from independent gradients: McCandlish et
    al., "An Empirical Model of Large-Batch Training" (2018), appendix A.1.
    With them knee knows how much a larger batch is worth (goodput)."""

    def __init__(self, initial, smoothing=0.95):
        self.initial = initial
        self.smoothing = smoothing
        self.sqr = self.var = self.weight = 0.0

    def add(self, count, mean_sqr, sqr_mean, samples):
        """Takes in `count` >= 2 gradients that together stand for `samples`
        samples: mean_sqr is the mean of their squared norms, sqr_mean the
        squared norm of their mean."""
        sqr = (count * sqr_mean - mean_sqr) / (count - 1)
        var = (mean_sqr - sqr_mean) * samples / self.initial / (count - 1)
        keep = self.smoothing
        self.sqr = keep * self.sqr + (1 - keep) * sqr
        self.var = keep * self.var + (1 - keep) * var
        self.weight = keep * self.weight + (1 - keep)

    def values(self):
        """Returns the estimates for report, nothing before the first."""
        if self.weight == 0:
            return {}
        return {"grad_sqr": self.sqr / self.weight, "grad_var": self.var / self.weight}
