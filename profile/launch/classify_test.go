package launch

import (
	"testing"
	"time"

	"knee/data"
)

// Messages as the programs print them.
func TestSpeaksOfMemory(t *testing.T) {
	for _, line := range []string{
		`torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.`,
		`RuntimeError: CUDA error: out of memory`,
		`RuntimeError: HIP error: out of memory`,
		`torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB`,
		`RuntimeError: MPS backend out of memory (MPS allocated: 8.00 GB)`,
		`torch.OutOfMemoryError: XPU out of memory. Tried to allocate 1.00 GiB.`,
		`tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:`,
		`OOM when allocating tensor with shape[64,512,512,64] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc`,
		`jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.`,
		`jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 123 bytes`,
		`RuntimeError: [enforce fail at alloc_cpu.cpp:114] data. DefaultCPUAllocator: can't allocate memory: you tried to allocate 8000 bytes. Error code 12 (Cannot allocate memory)`,
		`RuntimeError: [enforce fail at alloc_cpu.cpp:75] . DefaultCPUAllocator: not enough memory: you tried to allocate 8000 bytes.`,
		"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
		`RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED`,
		`cudaErrorMemoryAllocation: out of memory`,
		`ncclUnhandledCudaError: Call to CUDA function failed. Last error: Cuda failure 'out of memory'`,
		`mxnet.base.MXNetError: cudaMalloc retry failed: out of memory`,
		`hipErrorOutOfMemory: hipMalloc failed`,
		`ResourceExhaustedError: Out of memory error on GPU 0. Cannot allocate 1.0GB memory on GPU 0`,
		`java.lang.OutOfMemoryError: Java heap space`,
		`MemoryError: Unable to allocate 74.5 GiB for an array with shape (100000, 100000)`,
		`terminate called after throwing an instance of 'std::bad_alloc'`,
		`fatal error: runtime: out of memory`,
		`NCCL error: unhandled cuda error, Cuda failure 2 'out of memory'`,
		`jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 68719476736 bytes.`,
		`ERROR: LoadError: Out of GPU memory trying to allocate 1.000 GiB`,
		`OSError: [Errno 12] Cannot allocate memory`,
		`slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.`,
		`[ 12.3] Out of memory: Killed process 123 (python3) total-vm:1kB`,
		`RuntimeError: CUDA OUT OF MEMORY`,
		`cuda_error_out_of_memory`,
		`Memory cgroup out of memory: Killed process 123 (python3)`,
		`    exitcode  : -9 (pid: 1234)`,
		`    traceback : Signal 9 (SIGKILL) received by PID 1234`,
		`mpirun noticed that process rank 0 with PID 0 on node a exited on signal 9 (Killed).`,
		`[2026-11-24 10:00:00,000] [ERROR] [launch.py:321:sigkill_handler] ['python', 'x.py'] exits with return code = -9`,
		`subprocess.CalledProcessError: Command '['python', 'x.py']' died with <Signals.SIGKILL: 9>.`,
		`torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGKILL`,
		`RuntimeError: DataLoader worker (pid 123) is killed by signal: Killed.`,
		`oom_kill 1`,
		`{"OOMKilled": true}`,
		`ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.`,
	} {
		if !SpeaksOfMemory(line) {
			t.Errorf("not known as out of memory: %s", line)
		}
	}
	for _, line := range []string{
		"Set PYTORCH_CUDA_ALLOC_CONF to avoid running out of memory",
		"WARNING: if this runs out of memory, use a smaller batch",
		"INFO handler for torch.OutOfMemoryError removed",
		"[INFO] Tip: if you hit CUDA out of memory errors, lower --micro-batch-size",
		"google.api_core.exceptions.ResourceExhausted: 429 Quota exceeded for quota metric 'Requests'",
		"[launch.py:316:sigkill_handler] Killing subprocess 1234",
		"exits with return code = 1",
		"Unable to shutdown process 12 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL",
		"    exitcode  : 1 (pid: 9)",
		"Signal 15 (SIGTERM) received by PID 1234",
		"ImportError: /lib/libgomp.so.1: cannot allocate memory in static TLS block",
		"zoom 3, allocated 2 GiB of memory",
		"oom_kill 0",
		"state: {OOMKilled: false, ExitCode: 1}",
	} {
		if SpeaksOfMemory(line) {
			t.Errorf("taken for out of memory: %s", line)
		}
	}
}

// The launcher passes such lines on, so that a trial whose other ranks hang is known as
// out of memory.
func TestOutOfMemoryIsObserved(t *testing.T) {
	trial := Trial{Config: data.Config{Workers: 2}}
	p := output{heard: newHeard(Parser{}, trial, nil), name: "worker 1", rank: 1}
	for _, line := range []string{"hello", `knee: {"step":1,"step_time_s":0.5}`, "torch.OutOfMemoryError: CUDA out of memory.", "torch.OutOfMemoryError: CUDA out of memory. Again."} {
		p.line(time.Now(), line)
	}
	for range 3 { // of other ranks
		p.line(time.Now(), `knee: {"step_time_s":0.5}`)
		p.line(time.Now(), `knee: {"step":1,"step_time_s":0.5}`)
	}
	if p.oom == "" {
		t.Error("lines of other ranks made it forget that memory ran out")
	}
	p.kept = p.kept[:3]
	if n := len(p.kept); n != 3 || p.kept[1].OutOfMemory != "torch.OutOfMemoryError: CUDA out of memory." || p.kept[1].Rank != 1 || p.kept[1].OfStep() {
		t.Errorf("observed %+v", p.kept)
	}
}
