# knee operate on a Slurm of six virtual nodes: jobs that arrive and end, a node
# that is drained, knee killed twice, the controller restarted once, a clock that
# is set a day ahead and back, a job cancelled by hand, a worker stopped and one
# slowed, and jobs of which knee must keep its hands; then plans applied twice,
# late and to what is gone, a scheduler that answers late, half and nonsense, and
# forecasts of thirty jobs.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "needs root on a Debian machine, for a Slurm of virtual nodes"
engine=$CLONE/test/engines/slurm
loop=
trap '[ -z "$loop" ] || kill -9 $loop 2>/dev/null || true; "$engine/down" "$WORK/slurm" || true' EXIT
check "six virtual nodes are up" "$engine/up" "$WORK/slurm"
export SLURM_CONF=$WORK/slurm/slurm.conf PATH=$PATH:/usr/sbin
cd "$WORK"

# Speeds to plan with, and a job: the built-in trainer, whose storage delivers
# 320 samples a second to each worker. Every worker tells of its steps, and the
# first says when it has made the last.
{
	echo job,gpu_type,placement,local_batch,step_time_s,status
	for at in 1:0 2:0.01 4:0.02 1-1:0.03 2-2:0.04 4-4:0.05 4-4-4:0.06; do
		for batch in 16 32 64 128; do
			awk -v p="${at%:*}" -v s="${at#*:}" -v b=$batch 'BEGIN { printf "toy,a100,%s,%d,%.4f,ok\n", p, b, 0.4 * b / 128 + s }'
		done
	done
} >toy.csv
check "speeds are fitted" "$KNEE" fit -q toy.csv -f toy.json
cat >trainer <<END
#!/bin/bash
#SBATCH --requeue --comment=knee:elastic
srun --ntasks=\$((SLURM_JOB_NUM_NODES * SLURM_GPUS_ON_NODE)) bash -c '
at=$WORK/\$SLURM_JOB_NAME
[ \$SLURM_PROCID != 0 ] || echo "\$SLURM_JOB_NAME \$SLURM_NTASKS" >>$WORK/sizes
export RANK=\$SLURM_PROCID WORLD_SIZE=\$SLURM_NTASKS MASTER_PORT=\$((10000 + SLURM_JOB_ID))
export KNEE_LOCAL_BATCH=\$((128 / SLURM_NTASKS))
(
  echo \$BASHPID >\$at.\$RANK.pid
  exec $KNEE train --steps \$STEPS --input-rate 320 --checkpoint \$at.ckpt --all-ranks
) || exit
[ \$RANK != 0 ] || echo "\$SLURM_JOB_NAME \$SLURM_JOB_ID \$(date +%s.%N)" >>$WORK/ends'
END
chmod +x trainer
cat >operate.yaml <<END
scheduler: slurm
interval: 3s
between_moves: 5s
deadline: 90s
max_changes: 3
allow: [{user: root, name: "mine-*"}]
pause_file: PAUSE
metrics: 127.0.0.1:17099
sizes: pow2
rules:
  - {match: {name: "*"}, model: toy.json, remaining: {steps: 800}, workers: {min: 1, max: 8}, batch: {initial: 128}, checkpoint: true, restart_seconds: 11}
END
submit() { # submit NAME STEPS OPTIONS...
	local name=$1 steps=$2
	shift 2
	STEPS=$steps sbatch --parsable -J "$name" -t 30 "$@" trainer >>ids
}
for i in 1 2 3 4; do submit mine-$i 400 --nodes=1 --ntasks=1 --gres=gpu:a100:1; done
submit theirs 900 --nodes=2 --ntasks=4 --gres=gpu:a100:2
submit mine-norequeue 300 --no-requeue --nodes=1 --ntasks=1 --gres=gpu:a100:1
submit mine-slow 600 --no-requeue --nodes=1 --ntasks=3 --gres=gpu:a100:3
theirs=$(squeue --noheader --name=theirs --format=%A)
other=$(sbatch --parsable --uid=nobody -D /tmp -o /dev/null -J mine-other --requeue --gres=gpu:a100:1 --wrap 'sleep 900')
running() { [ "$(squeue --noheader --states=RUNNING --format=%A | wc -l)" = "$1" ]; }
check "all of them run" within 20 running 8

check "a configuration that allows everything is refused" bash -c "sed 's/^allow.*//' operate.yaml >all.yaml; ! '$KNEE' operate all.yaml --once"
check "a dry turn ends well, and says that no quotas are known" bash -c "'$KNEE' operate operate.yaml --once 2>&1 | grep 'keeps no accounts'"
check "and has changed nothing" exactly turns/audit.jsonl '"command"' 0
touch PAUSE
check "a paused turn ends well" "$KNEE" operate operate.yaml --once --confirm
check "and has changed nothing" exactly turns/audit.jsonl '"command"' 0
rm PAUSE

start() {
	"$KNEE" operate operate.yaml --confirm >>loop.out 2>>loop.err &
	loop=$!
}
stop_hard() {
	kill -9 $loop
	wait $loop 2>/dev/null || true
}
held() { grep -q '"requeuehold".*"answered":false' turns/audit.jsonl; }
start
check "a job is stopped for its change" within 30 held
stop_hard
# One of three workers runs for a tenth of the time, and one job stands still,
# until that is told.
sed -i 's/"20\([0-9][0-9]-\)/"21\1/' turns/state.json
holds turns/state.json '"21[0-9][0-9]-' 1 || { cat turns/state.json; exit 1; }
slow=$(cat mine-slow.1.pid)
while kill -STOP $slow 2>/dev/null; do sleep 0.9; kill -CONT $slow 2>/dev/null; sleep 0.1; done &
slowing=$!
start
set_right() { ! grep '"21[0-9][0-9]-' turns/state.json; }
check "times a century ahead, of a clock that was wrong, do not stay" within 30 set_right
proposed() { grep '"proposal"' turns/audit.jsonl | grep "\"kind\":\"$1\"" | grep "\"name\":\"$2\""; }
named() { grep '"proposal"' turns/audit.jsonl | grep '"name":"mine-slow"' | grep '"node":"n[0-9]","text":"worker 1 '; }
check "the slow worker is named, with its node" within 60 named
kill $slowing
kill -CONT $slow
kill -STOP "$(cat mine-norequeue.0.pid)"
check "the job that stands still is, too" within 60 proposed silent mine-norequeue
kill -CONT "$(cat mine-norequeue.0.pid)"
stop_hard
submit mine-5 300 --nodes=1 --ntasks=1 --gres=gpu:a100:1
submit mine-6 300 --nodes=1 --ntasks=2 --gres=gpu:a100:2
start
scontrol update nodename=n4 state=drain reason=test
sleep 4
stop_controller
sleep 2
check "the controller is started again" slurmctld
cancelled=$(squeue --noheader --name=mine-4 --format=%A)
scancel "$cancelled"
metrics() { curl -sf http://127.0.0.1:17099/metrics | grep '^knee_turns_total{result="ok"} [1-9]'; }
check "metrics are served" within 60 metrics
# The clock of the loop alone is set, while it runs.
if [ "$(uname -m)" = x86_64 ]; then
	(cd "$CLONE" && CGO_ENABLED=0 go build -o "$WORK/clock" ./test/engines/clock)
	jumps() { # jumps SECONDS: the clock is set, the loop says so, and turns end well
		local well
		well=$(grep -L '"error"' turns/*/outcome.json | wc -l)
		./clock $loop "$1" && within 120 holds loop.err "clock of this machine was set by $2" 1 && within 120 more $((well + 2))
	}
	more() { [ "$(grep -L '"error"' turns/*/outcome.json | wc -l)" -ge "$1" ]; }
	check "turns go on when the clock is set a day ahead" jumps 86400 24h0m
	check "and when it is set back" jumps 0 -24h0m
	check "no job is taken for silent because of that" bash -c "! grep 'it has printed nothing' turns/audit.jsonl | grep -v mine-norequeue"
else
	echo "skip  a clock that jumps: test/engines/clock is for x86_64"
fi
ended() { [ "$(cut -d' ' -f1 ends | sort -u | wc -l)" = 8 ]; }
check "every job comes to its end but the one that was cancelled" within 400 ended
stop_hard
cat turns/*/outcome.json | grep -o '"status": *"[a-z ]*"' | sort | uniq -c

check "no job ended twice" test "$(wc -l <ends)" = 8
check "no job has another id than at first" bash -c "cut -d' ' -f2 ends | sort | comm -23 - <(sort ids) | wc -l | grep -qx 0"
alone() { [ "$(squeue --noheader --format=%A)" = "$other" ]; }
check "no job is left but the one of another user" within 120 alone
check "which no command concerned" exactly turns/audit.jsonl "\"job\":\"$other\"" 0
check "the jobs of others were not touched" exactly turns/audit.jsonl "\"job\":\"$theirs\"" 0
check "nor those that may not be requeued" bash -c "! grep '\"command\"' turns/audit.jsonl | grep 'mine-norequeue\|mine-slow'"
check "jobs whose speed is not that of their model got one of their own" bash -c "cat turns/*/outcome.json | grep -q '\"kind\": \"refit\"'"
check "a job has run with more tasks than it began with" bash -c "cat sizes | sort -u | grep -q '^mine-1 [2-8]$'"
check "jobs were changed" bash -c "cat turns/*/outcome.json | grep -q '\"status\": \"done\"'"
check "no turn made more changes than it may" bash -c "for f in turns/*/outcome.json; do [ \$(grep -c '\"status\": \"done\"' \$f) -le 6 ] || exit 1; done"
asked=$(grep -c '"answered":false' turns/audit.jsonl) answered=$(grep -c '"answered":true' turns/audit.jsonl)
check "every command has its answer but those in which knee was killed: $asked, $answered" test $((asked - answered)) -le 2

scancel "$other"

# A plan, applied twice, when it is stale, when its job is gone, and when its node
# is.
mv turns turns.loop
plan() { # plan NAME JOB: a plan that gives a job more than its one GPU
	submit "$2" 5000 --nodes=1 --ntasks=1 --gres=gpu:a100:1
	steps() { "$KNEE" jobs --from slurm --config operate.yaml -o csv | grep ",$2,.*,running,.*toy.json,[1-9]"; }
	within 30 steps "$1" "$2" && "$KNEE" cluster --from slurm >cluster.yaml && "$KNEE" jobs --from slurm --config operate.yaml >jobs.yaml &&
		"$KNEE" allocate --cluster cluster.yaml --jobs jobs.yaml --sizes pow2 --plan "$1.json" -q >/dev/null && grep '"action": "grow"' "$1.json"
}
id() { squeue --noheader --name="$1" --format=%A; }
applied() { # applied NAME STATUS COMMANDS: the status of its change, and whether scontrol was called
	"$KNEE" apply "$1.json" --to slurm --config operate.yaml --deadline 60s --confirm -o csv >"$1.out" 2>"$1.err" || true
	cat "$1.out" "$1.err"
	grep ",$2," "$1.out" && [ "$(grep -c '^scontrol' "$1.err")" "$3" 0 ]
}
check "a plan for a job" plan one mine-app1
check "is applied" applied one done -gt
check "a second time there is nothing to do" applied one already -eq
scontrol requeuehold "$(id mine-app1)"
idle() { [ -z "$(squeue --noheader --name=mine-app1 --format=%N)" ]; }
check "its owner holds the job" within 30 idle
check "what was changed since is left alone" applied one stale -eq
scancel "$(id mine-app1)"
check "another plan" plan two mine-app2
scancel "$(id mine-app2)"
gone_() { [ -z "$(id mine-app2)" ]; }
within 30 gone_
check "a job that was cancelled by hand has ended, and is no failure" applied two ended -eq
check "a third plan" plan three mine-app3
lost=$(sed -n 's/^ *"node": "\(n[0-9]\)",*$/\1/p' three.json | sort -u | grep -vx "$(squeue --noheader --name=mine-app3 --format=%N)" | paste -sd,)
[ -n "$lost" ] || lost=$(squeue --noheader --name=mine-app3 --format=%N) # it was to grow where it is
scontrol update nodename="$lost" state=down reason=lost
check "nothing is stopped for nodes that are gone" bash -c "$(declare -f applied); KNEE=$KNEE; applied three refused -eq || applied three stale -eq"
scontrol update nodename="$lost" state=resume || true # it may have come back by itself
scancel "$(id mine-app3)"

# Schedulers that answer late, half, nonsense, and nothing.
mkdir bad
answers() { # answers TEXT SCRIPT: a turn with this squeue fails and says so, or sees nothing
	printf '#!/bin/sh\n%s\n' "$2" >bad/squeue && chmod +x bad/squeue
	before=$(cat turns/audit.jsonl 2>/dev/null | wc -l)
	PATH=$WORK/bad:$PATH timeout 120 "$KNEE" operate late.yaml --once --confirm >bad.out 2>&1 || true
	cat bad.out
	grep -- "$1" bad.out && [ "$(cat turns/audit.jsonl | wc -l)" = "$before" ]
}
sed '/^metrics/d' operate.yaml >late.yaml
check "a scheduler that answers late" answers "no answer within 1m0s" "exec sleep 110"
check "half" answers "JSON" "$(command -v squeue) --json | head -c 900"
check "nonsense" answers "JSON" "echo slurm_load_jobs error: Socket timed out"
check "and that nobody is there" answers "0 jobs" "echo '{\"jobs\": []}'"

# Forecasts: thirty jobs of a quarter to a whole minute and nobody who changes
# them; the test holds what every turn said against when they ended.
rm -rf turns ends
sed -i '/^metrics/d; s/remaining: {steps: 800}/remaining: {steps: 120}/' operate.yaml
for i in $(seq 30); do submit mine-f$i 120 --nodes=1 --ntasks=$((i % 3 + 1)) --gres=gpu:a100:$((i % 3 + 1)); done
"$KNEE" operate operate.yaml >forecast.out 2>&1 &
loop=$!
# Beside it, a loop whose scheduler is a day ahead.
sed 's/^pause_file/folder: ahead\npause_file/' operate.yaml >ahead.yaml
printf '#!/bin/sh\n%s "$@" | perl -pe '"'"'s/("start_time": )([1-9]\d+)/$1.($2+86400)/e'"'"'\n' "$(command -v squeue)" >bad/squeue
ahead() { PATH=$WORK/bad:$PATH "$KNEE" operate ahead.yaml --once; }
sleep 10
check "a scheduler whose clock is a day ahead" ahead
measured() { sleep 5 && ahead && [ "$(cat "$(ls -d ahead/0*/queue.json | tail -1)" | grep -c '"step_time_s": [0-9]')" -ge 5 ]; }
check "has its jobs measured all the same" within 20 measured
over() {
	local left
	left=$(squeue --noheader --format=%j) && ! grep -q '^mine-f' <<<"$left"
}
state() { squeue; sinfo --long --Node; cat ends; tail -n 3 slurm-*.out slurm/log/*.log; }
all_over() { within 150 over || { state; false; }; }
check "thirty jobs are over" all_over
# At most two that failed are shown, and submitted once more.
again=0
for i in $(seq 30); do
	if ! grep -q "^mine-f$i " ends && [ $((again++)) -lt 2 ]; then
		echo "      mine-f$i failed:" && tail -n 5 "slurm-$(sed -n "$(($(wc -l <ids) - 29 - again + i))p" ids).out" || true
		submit mine-f$i 120 --nodes=1 --ntasks=$((i % 3 + 1)) --gres=gpu:a100:$((i % 3 + 1))
	fi
done
check "those submitted again are over too: $again" all_over
check "thirty jobs end" test "$(cut -d' ' -f1 ends | sort | uniq -c | awk '$1 == 1' | wc -l)" = 30
stop_hard
code=0
(cd "$CLONE" && KNEE_TURNS=$WORK/turns KNEE_ENDS=$WORK/ends go test ./operate -run TestForecasts -count=1 -v) >forecasts.log 2>&1 || code=$?
sed -n 's/^ *forecast_test.go:[0-9]*: /      /p' forecasts.log
check "their ends lie in the intervals that were forecast" bash -c "[ $code = 0 ] || { cat forecasts.log; false; }"

# Accounts: their limits are quotas of plans, those of a QOS hold for what is
# applied.
check "slurmdbd and its database start" "$engine/accounting" "$WORK/slurm"
for words in "account research GrpTRES=gres/gpu=12" "account vision parent=research GrpTRES=gres/gpu=4" "account speech parent=research" \
	"user root account=vision" "user root account=speech" "qos night GrpTRES=gres/gpu=3"; do
	sacctmgr -i -Q add $words >>accounts.log
done
sacctmgr -i -Q modify user root set qos+=night >>accounts.log
sed -i 's/remaining: {steps: 120}/remaining: {steps: 5000}/' operate.yaml
submit mine-v1 5000 -A vision --nodes=1 --ntasks=1 --gres=gpu:a100:1
submit mine-v2 5000 -A vision --nodes=1 --ntasks=1 --gres=gpu:a100:1
submit mine-q1 5000 -A speech --qos=night --nodes=1 --ntasks=1 --gres=gpu:a100:1
check "jobs of two accounts run" within 20 running 3
measured() { [ "$("$KNEE" jobs --from slurm --config operate.yaml -o csv | grep -c 'toy.json,[1-9]')" = 3 ]; }
within 30 measured
"$KNEE" cluster --from slurm >cluster.yaml
"$KNEE" jobs --from slurm --config operate.yaml >jobs.yaml
check "jobs.yaml has the accounts and their limits" bash -c "tr -d '\n' <jobs.yaml | grep 'name: vision[^-]*all: 4[^-]*parent: research' || { cat jobs.yaml; false; }"
check "a plan" "$KNEE" allocate --cluster cluster.yaml --jobs jobs.yaml --sizes pow2 --plan accounts.json
gpus() { squeue --noheader --states=RUNNING --format='%a %D %b' | awk -v a="$1" '$1 == a { sub(/.*:/, "", $3); n += $2 * $3 } END { print n + 0 }'; }
"$KNEE" apply accounts.json --to slurm --config operate.yaml --deadline 60s --confirm -o csv >accounts.out 2>accounts.err || true
check "an account gets what its limit leaves, and no more: $(gpus vision) of 4" test "$(gpus vision)" = 4
check "what a QOS forbids is refused before anything is stopped" bash -c "grep 'mine-q1.*,refused,QOS night may have 3 GPUs' accounts.out || { cat accounts.out accounts.err; false; }"
