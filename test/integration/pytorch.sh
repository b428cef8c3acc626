# PyTorch on this machine: a guided profile of real data-parallel training, of
# training with parameter servers, and through torchrun; the fit, the next
# suggestion and a figure; and a worker killed in the middle of a trial.
. "$(dirname "$0")/lib.sh"
/usr/bin/python3 -c 'import torch' 2>/dev/null || need python3-torch torchrun
/usr/bin/python3 -c 'import torch' 2>/dev/null || skip "PyTorch is not installed for /usr/bin/python3 (Debian package python3-torch)"
cp "$CLONE"/examples/pytorch/* "$WORK"
cd "$WORK"

quick() { # quick STUDY TRIALS: fewer and shorter trials, for a test, and time to begin on a slow machine
	sed -i "s/trials: [0-9]*/trials: $2/; s/max_seconds: [0-9]*/max_seconds: 1/; s/timeout: 60s/timeout: 300s/; s/min_steps: 20/min_steps: 8/; s/\[8, 16, 32, 64, 128\]/[8, 16]/; s/\[16, 32, 64\]/[8, 16]/" "$1"
}
measured() { # measured CSV N: at least N rows are ok, and nothing failed
	[ "$(grep -c ',ok,' "$1")" -ge "$2" ] && ! grep -E ',(failed|timeout|oom),' "$1"
}
# falls: the loss at the end of a run of its own is below that at its start.
# The trials of a study are too short to tell. What it printed counts, not how
# it ended: PyTorch was once seen to hang after the last step, when it tears down.
falls() {
	GLOO_SOCKET_IFNAME=lo RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=$("$CLONE/test/free_port") \
		timeout -k 5 600 /usr/bin/python3 ddp.py --batch 16 --steps 400 >loss.log || tail -5 loss.log
	/usr/bin/python3 - loss.log <<'END'
import json, sys
losses = [json.loads(l.split("knee: ", 1)[1])["loss"] for l in open(sys.argv[1]) if l.startswith("knee: ") and '"loss"' in l]
quarter = max(1, len(losses) // 4)
first, last = sum(losses[:quarter]) / quarter, sum(losses[-quarter:]) / quarter
print(f"{len(losses)} steps, loss {first:.3f} -> {last:.3f}")
sys.exit(0 if len(losses) == 400 and last < first - 0.03 else 1)
END
}

quick ddp.yaml 6
check "data-parallel training is profiled" "$KNEE" profile -q ddp.yaml
check "every trial was measured" measured ddp.measurements.csv 6
check "the loss falls" falls
check "gradient statistics were reported" bash -c "head -1 ddp.curve.csv | grep -q grad_sqr,grad_var"
check "the measurements are fitted" "$KNEE" fit -q ddp.measurements.csv -f ddp.json
check "it predicts" "$KNEE" predict ddp.json --workers 1..4 --gpu-type cpu
check "it suggests" "$KNEE" suggest ddp.yaml --history ddp.measurements.csv -o json
check "it plots" bash -c '"$KNEE" plot scalability ddp.json -f ddp.svg && test -s ddp.svg'
held() { # a configuration that was not tried is predicted, measured and compared
	"$CLONE/test/holdback" ddp.yaml 'gpu_type: [cpu], workers: [2], local_batch: [12], model: [cnn]' >held.txt &&
		grep -Eq '^allreduce,,2,0,12(,[0-9.e-]+){4},[+-][0-9]+$' held.txt && grep -q '^total' held.txt || { cat held.txt; return 1; }
}
check "what was not tried is predicted, then measured" held

quick ps.yaml 4
check "training with parameter servers is profiled" "$KNEE" profile -q ps.yaml
check "every trial was measured" measured ps.measurements.csv 4
check "both modes were" bash -c 'grep -q ps-sync ps.measurements.csv && grep -q ps-async ps.measurements.csv'
check "synchronisation time was reported" grep -q sync_time_s ps.measurements.csv
check "the measurements are fitted" "$KNEE" fit -q ps.measurements.csv -f ps.json

quick torchrun.yaml 2
sed -i 's/workers: \[1, 2\]/workers: [2]/' torchrun.yaml
check "torchrun starts the workers" "$KNEE" profile -q torchrun.yaml
check "every trial was measured" measured torchrun.measurements.csv 2

# One worker of two is killed: the trial ends, and says how.
sed 's/trials: [0-9]*/trials: 1/; s/workers: .*/workers: [2]/; s/max_seconds: [0-9.]*/max_seconds: 60/; s/rel_precision: [0-9.]*/rel_precision: 0.0001/; s/timeout: 300s/timeout: 300s, retries: 0/' ddp.yaml >killed.yaml
"$KNEE" profile -q killed.yaml >killed.out 2>killed.err &
pid=$!
within 60 holds killed.logs/trial-001-1.log '"step": 3' 1 || true
kill -9 "$(pgrep -P $pid -f ddp.py | head -1)"
wait $pid || true
check "a killed worker ends its trial" grep -q ',oom,\|,failed,' killed.measurements.csv
check "nothing of PyTorch is left" no_process "ddp.py --model"
