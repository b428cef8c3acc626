# A Slurm of six virtual nodes: real PyTorch over two nodes by srun; what goes
# wrong with jobs; the controller restarted and knee killed in the middle.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "needs root on a Debian machine, for a Slurm of virtual nodes"
/usr/bin/python3 -c 'import torch' 2>/dev/null || need python3-torch torchrun
/usr/bin/python3 -c 'import torch' 2>/dev/null || skip "PyTorch is not installed for /usr/bin/python3 (Debian package python3-torch)"
engine=$CLONE/test/engines/slurm
trap '"$engine/down" "$WORK/slurm" || true' EXIT
check "six virtual nodes are up" "$engine/up" "$WORK/slurm"
export SLURM_CONF=$WORK/slurm/slurm.conf PATH=$PATH:/usr/sbin
cd "$WORK"

empty() { # no job is left in the queue
	within 30 no_jobs || { squeue; return 1; }
}
no_jobs() {
	[ -z "$(squeue --noheader)" ]
}
row() { # row CSV TEXT: a row of the measurements holds the text
	grep -q -- "$2" "$1" || { cat "$1"; return 1; }
}

scontrol update nodename=n6 state=drain reason=test
"$KNEE" cluster --from slurm --price a100=2 >cluster.yaml
check "the cluster is read" "$KNEE" cluster --check cluster.yaml
check "its GPU types, prices and drained nodes are" bash -c 'grep -q "n\[1-4\].*a100.*gpus: 4.*price_per_hour: 8" cluster.yaml && grep -q "n6.*v100.*drained: true" cluster.yaml'
scontrol update nodename=n6 state=resume

# PyTorch over two nodes, one process per worker by srun.
cp "$CLONE"/examples/pytorch/*.py "$CLONE/examples/slurm/ddp.yaml" .
sed -i 's/^dir: .*/dir: ./; s/trials: [0-9]*/trials: 4/; s/max_seconds: [0-9]*/max_seconds: 1/; s/min_steps: [0-9]*/min_steps: 6/' ddp.yaml
check "PyTorch is profiled over two nodes" "$KNEE" profile -q ddp.yaml
check "every trial was measured" test "$(grep -c ',ok,' ddp.measurements.csv)" = 4
check "some of them on two nodes" row ddp.measurements.csv ',1-1,\|,2-2,'
check "the measurements are fitted" "$KNEE" fit -q ddp.measurements.csv -f ddp.json
check "nothing is left in the queue" empty

# A trainer in shell, and what becomes of it.
cat >trainer <<'END'
#!/bin/bash
if [ "$RANK" != 0 ]; then
	case $1 in none | silent) exit 0 ;; esac
	exec sleep 60 # as a worker does that waits for another
fi
for ((i = 1; i <= ${STEPS:-40}; i++)); do
	echo "knee: {\"step\":$i,\"step_time_s\":0.0$((4 + i % 2))}"
	sleep 0.05
done
case $1 in
killed) kill -9 $$ ;;
hangs) sleep 1000 ;;
memory) ulimit -v 400000; exec python3 -c 'b = bytearray(1 << 30)' ;;
esac
END
chmod +x trainer
study() { # study NAME MODE: a study of one trial
	{
		echo "job: $1"
		echo "command: [$PWD/trainer, $2]"
		echo 'space: {gpu_type: [a100], placement: [1-1]}'
		echo 'trial: {min_steps: 200, max_seconds: 900, rel_precision: 0.0001, timeout: 12s, retries: 0}'
		echo 'budget: {trials: 1}'
		echo "launcher: {slurm: {srun: true, poll: 1s, time: 10m}}"
	} >"$1.yaml"
}
ends() { # ends NAME MODE STATUS TEXT DESCRIPTION
	study "$1" "$2"
	"$KNEE" profile -q "$1.yaml" >"$1.out" 2>&1 || true
	check "$5" row "$1.measurements.csv" ",$3,.*$4"
	check "nothing is left in the queue" empty
}
ends killed killed oom 'exit 137' "a trainer that is killed is told apart"
ends hangs hangs timeout 'no step for 12s' "a trainer that hangs is ended"
ends memory memory oom 'MemoryError' "a trainer out of memory is told apart"
study silent silent
sed -i 's/silent\]/silent]\nenv: {STEPS: 0}/' silent.yaml
"$KNEE" profile -q silent.yaml >silent.out 2>&1 || true
check "a trainer that prints nothing is told apart" row silent.measurements.csv ',failed,.*without reporting a step'
study wide none
sed -i 's/1-1/4-4-4-4-4/' wide.yaml
"$KNEE" profile -q wide.yaml >wide.out 2>&1 || true
check "more nodes than there are is a fact" row wide.measurements.csv ',infeasible,'
check "nothing is left in the queue" empty

# The controller is away for some seconds while a trial runs.
study restart none
sed -i 's/none\]/none]\nenv: {STEPS: 160}/' restart.yaml
"$KNEE" profile -q restart.yaml >restart.out 2>&1 &
pid=$!
within 30 holds restart.logs/trial-001-1.log knee: 10
stop_controller
sleep 3
slurmctld
wait $pid || true
check "a trial outlives its controller" row restart.measurements.csv ',ok,'
check "and is measured to its end" holds restart.logs/trial-001-1.log '"step":160' 1
check "nothing is left in the queue" empty

# knee is killed with -9 while the trial runs, and takes it up again.
study again none
sed -i 's/none\]/none]\nenv: {STEPS: 200}/' again.yaml
"$KNEE" profile -q again.yaml >again.out 2>&1 &
pid=$!
within 30 holds again.logs/trial-001-1.log knee: 10
kill -9 $pid
wait $pid 2>/dev/null || true
check "the job goes on without knee" test "$(squeue --noheader --states=RUNNING | wc -l)" = 1
"$KNEE" profile -q again.yaml >again2.out 2>&1 || true
check "knee goes on with it" row again.measurements.csv ',ok,'
check "and has submitted it once" test "$(ls again.logs/*.sbatch | wc -l)" = 1
check "it was measured to its end" holds again.logs/trial-001-1.log '"step":200' 1
check "from its beginning" bash -c "awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[\$i] = i } NR == 2 { exit !(\$at[\"steps\"] > 50) }' again.measurements.csv"
check "nothing is left in the queue" empty

# Two interrupts cancel the job.
study stopped none
sed -i 's/none\]/none]\nenv: {STEPS: 900}/' stopped.yaml
"$KNEE" profile stopped.yaml >stopped.out 2>stopped.err &
pid=$!
within 30 holds stopped.logs/trial-001-1.log knee: 10
interrupt_twice $pid stopped.err
code=0
wait $pid || code=$?
check "two interrupts end it with 130" test $code = 130
check "nothing is left in the queue" empty

# The cluster is full. Trials that wait, or wait for their turn to, are queued
# and not timed out; one interrupt withdraws what only waits; what a run that
# was killed left in the queue is cancelled by --restart.
fill() { # no node has a GPU left
	blocker=$(sbatch --parsable --nodes=4 --gres=gpu:a100:4 --job-name=blocker --wrap 'sleep 600')
	within 30 runs "$blocker"
}
runs() { # runs JOB
	[ "$(squeue --noheader --jobs="$1" --states=RUNNING | wc -l)" = 1 ]
}
waiting() { # N jobs of knee wait
	[ "$(squeue --noheader --states=PENDING --format=%j | grep -c ^knee-)" = "$1" ]
}
study full none
sed -i 's/placement: \[1-1\]/placement: [1-1, 2-2, 1-1-1]/; s/trials: 1/trials: 3/; s/min_steps: 200/min_steps: 10/' full.yaml
echo "parallel: 2" >>full.yaml
fill
"$KNEE" profile -q full.yaml >full.out 2>&1 &
pid=$!
check "one trial waits for nodes" within 20 waiting 1
sleep 24 # twice the timeout of a trial
check "none has timed out" bash -c '! grep -q ",timeout," full.measurements.csv 2>/dev/null'
scancel "$blocker"
wait $pid || true
check "with room they are all measured" test "$(grep -c ',ok,' full.measurements.csv)" = 3
check "with their start-up" grep -q start_seconds full.measurements.csv
check "nothing is left in the queue" empty

study drained none
fill
"$KNEE" profile drained.yaml >drained.out 2>drained.err &
pid=$!
within 20 waiting 1
kill -TERM $pid
code=0
wait $pid || code=$?
check "one interrupt ends a profile whose trial only waits" test $code = 130
check "and withdraws its job" waiting 0

study orphan none
"$KNEE" profile -q orphan.yaml >orphan.out 2>&1 &
pid=$!
within 20 waiting 1
kill -9 $pid
wait $pid 2>/dev/null || true
old=$(squeue --noheader --states=PENDING --format=%i)
"$KNEE" profile --restart orphan.yaml >orphan2.out 2>orphan2.err &
pid=$!
check "--restart cancels the job of the run before" within 30 holds orphan2.err "cancelled job $old" 1
check "and submits its own" within 20 waiting 1
scancel "$blocker"
wait $pid || true
check "which is measured, in a folder of its own" bash -c 'grep -q ,ok, orphan.measurements.csv && test -s orphan.logs/run-2/trial-001-1.log && ! test -e orphan.logs/trial-001-1.log'
check "nothing is left in the queue" empty

study patient none
sed -i 's/time: 10m/time: 10m, max_wait: 3s/' patient.yaml
fill
"$KNEE" profile -q patient.yaml >patient.out 2>&1 || true
check "a job that waits longer than max_wait is queued, not timed out" row patient.measurements.csv ',queued,.*max_wait'
scancel "$blocker"
check "nothing is left in the queue" empty
