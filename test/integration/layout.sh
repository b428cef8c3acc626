# Layouts on this machine: tensor, pipeline and data parallelism of PyTorch in
# real processes, compared with one process; then profiled, fitted, predicted.
. "$(dirname "$0")/lib.sh"
/usr/bin/python3 -c 'import torch' 2>/dev/null || need python3-torch torchrun
/usr/bin/python3 -c 'import torch' 2>/dev/null || skip "PyTorch is not installed for /usr/bin/python3 (Debian package python3-torch)"
cp "$CLONE"/examples/pytorch/* "$WORK"
cd "$WORK"
export GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1

alike() { # alike ARGUMENTS...: losses, gradients and parameters are those of one process
	MASTER_PORT=$("$CLONE/test/free_port") timeout 1200 /usr/bin/python3 layout.py --verify --hidden 32 --seq-len 8 --vocab 32 --batch 2 "$@"
}
check "tp 4 computes what one process computes" alike --tp 4 --accum-steps 1
check "pp 4, fewer micro-batches than stages" alike --pp 4 --accum-steps 1
check "pp 3 of 4 layers, more micro-batches, recomputed" alike --pp 3 --accum-steps 5 --recompute full
check "tp 2, pp 2 and 2 replicas" alike --tp 2 --pp 2 --dp 2 --accum-steps 3
check "ZeRO-1 over 2 replicas of tp 2" alike --tp 2 --dp 2 --sharding zero1 --accum-steps 1
old() { ! alike --dp 2 --sharding zero3 >old 2>&1 && grep -q 'zero3 needs PyTorch 2.8 or newer' old; } # Debian's
/usr/bin/python3 -c 'import torch; assert torch.__version__ < "2"' 2>/dev/null && zero3=old || zero3="alike --dp 2 --sharding zero3"
check "FSDP, or which PyTorch it needs" $zero3
differs() ( # without the all-reduce of gradients into a column-parallel layer
	mkdir broken && cp ./*.py broken && cd broken
	sed -i 's/return ctx.layout.sum(gradient), None/return gradient, None/' transformer.py
	! alike --tp 2 >out 2>&1 && grep -q 'not what one process computes' out
)
check "a missing all-reduce is noticed" differs

sed -i 's/trials: [0-9]*/trials: 7/; s/timeout: 120s/timeout: 600s/; s/max_seconds: [0-9]*/max_seconds: 2/; s/min_steps: 10/min_steps: 6/; s/local_batch: \[.*\]/local_batch: [1, 2]/; s/global_batch: \[16\]/global_batch: [4]/; s/recompute: \[none, full\]/recompute: [none]/' layout.yaml
check "layouts are profiled" "$KNEE" profile -q layout.yaml
measured() { # as many rows as trials, of tensor and of pipeline parallelism, each with its memory
	/usr/bin/python3 - layout.measurements.csv <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
good = [r for r in rows if r["status"] == "ok" and float(r["peak_memory_bytes"]) > 50e6]
print(len(rows), "rows, of them good:", [(r["workers"], r["tp"], r["pp"], r["accum_steps"]) for r in good])
sys.exit(not (len(rows) == len(good) == 7 and any(int(r["tp"] or 1) > 1 for r in good) and any(int(r["pp"] or 1) > 1 for r in good)))
END
}
check "every trial was measured, with its memory" measured
check "the measurements are fitted" "$KNEE" fit -q layout.measurements.csv -f layout.json
check "a layout that was not tried is predicted" bash -c 'printf "job,gpu_type,workers,tp,pp,local_batch,accum_steps\ntransformer,cpu,4,2,2,1,1\n" | "$KNEE" predict layout.json --at - -o csv >predicted.csv && grep -q transformer predicted.csv'
check "nothing of PyTorch is left" no_process "layout.py --tp"
