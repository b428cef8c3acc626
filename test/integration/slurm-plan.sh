# Plans on a Slurm of six virtual nodes: knee allocate, knee export, and what
# Slurm makes of the scripts. A first plan starts jobs; a second one keeps,
# shrinks, grows, moves and pauses them.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "needs root on a Debian machine, for a Slurm of virtual nodes"
engine=$CLONE/test/engines/slurm
trap '"$engine/down" "$WORK/slurm" || true' EXIT
check "six virtual nodes are up" "$engine/up" "$WORK/slurm"
export SLURM_CONF=$WORK/slurm/slurm.conf PATH=$PATH:/usr/sbin
cd "$WORK"

# Speeds to plan with: a step of 0.4 s on a v100, half of it on an a100, and
# a little more for each worker that takes part.
{
	echo job,gpu_type,placement,local_batch,step_time_s,status
	for gpu in a100:0.2 v100:0.4; do
		for at in 1:0 2:0.01 4:0.02 1-1:0.03 2-2:0.04 4-4:0.05 4-4-4:0.06; do
			for batch in 16 32; do
				awk -v g="${gpu%:*}" -v t="${gpu#*:}" -v p="${at%:*}" -v s="${at#*:}" -v b=$batch 'BEGIN { printf "toy,%s,%s,%d,%.4f,ok\n", g, p, b, t * b / 32 + s }'
			done
		done
	done
} >toy.csv
check "speeds are fitted" "$KNEE" fit -q toy.csv -f toy.json

# A trainer that says where it runs, and notes a checkpoint when it is asked to end.
cat >trainer <<END
#!/bin/bash
echo "\$KNEE_JOB \$RANK of \$WORLD_SIZE on \$SLURMD_NODENAME gpus \$CUDA_VISIBLE_DEVICES of job \$SLURM_JOB_ID" >>$WORK/ranks
trap 'echo "\$KNEE_JOB \$RANK of \$WORLD_SIZE" >>$WORK/checkpoints; exit 0' TERM
for _ in \$(seq 1200); do sleep 0.1; done
END
chmod +x trainer
"$KNEE" cluster --from slurm >cluster.yaml
job() { # job NAME WORKERS TYPE WEIGHT [CURRENT]
	echo "  - {name: $1, model: toy.json, remaining: {steps: 100000}, workers: {min: $2, max: $2}, gpu_types: [$3], batch: {initial: 256},"
	echo "     weight: $4, ${5:+current: {$5\}, }resources: {worker: {cpus: 2, memory: 1Gi}}, template: {command: [$WORK/trainer], time_limit: \"10:00\"}}"
}
plan() { # plan N: from jobsN.yaml to the folder planN
	check "plan $1 is made" "$KNEE" allocate --cluster cluster.yaml --jobs "jobs$1.yaml" --plan "plan$1.json"
	check "plan $1 is exported" "$KNEE" export "plan$1.json" --to slurm -d "plan$1"
	for script in plan"$1"/*.sbatch; do
		check "sbatch --test-only accepts $(basename "$script") of plan $1" sbatch --test-only "$script"
	done
}
at() { # at NAME TYPE: where a job runs, as a field of jobs.yaml
	local nodes per
	nodes=$(squeue --noheader --name="$1" --format=%N)
	per=$(squeue --noheader --name="$1" --format=%b | grep -o '[0-9]*$')
	echo "gpu_type: $2, nodes: \"$nodes\", placement: \"$(scontrol show hostnames "$nodes" | sed "s/.*/$per/" | paste -sd-)\""
}
id() { squeue --noheader --name="$1" --format=%A; }
ranks() { # ranks NAME WORLD JOBID: how many tasks said that they run
	grep -c "^$1 [0-9]* of $2 on .* job $3\$" ranks || true
}
all_up() { [ "$(ranks "$1" "$2" "$(id "$1")")" = "$2" ]; }
looks() { # looks NAME STATE NODES TASKS GRES: what Slurm says of a job
	local is
	is=$(squeue --noheader --name="$1" --format='%T %D %C %b')
	[ "$is" = "$2 $3 $(($4 * 2)) $5" ] || { echo "$1: $is, want $2 $3 $(($4 * 2)) $5"; return 1; }
}

{
	echo jobs:
	job keeps 2 v100 1
	job shrinks 8 a100 1
	job grows 4 a100 1
	job moves 4 a100 1
	job pauses 4 v100 1
} >jobs1.yaml
plan 1
touch ranks checkpoints
check "plan 1 is submitted" timeout 60 plan1/submit.sh
for job in "keeps 2" "shrinks 8" "grows 4" "moves 4" "pauses 4"; do
	check "all tasks of ${job% *} run" within 30 all_up $job
done
check "keeps has one node, two tasks, two v100" looks keeps RUNNING 1 2 gres:gpu:v100:2
check "shrinks has two nodes, eight tasks, four a100 on each" looks shrinks RUNNING 2 8 gres:gpu:a100:4
check "every task sees the GPUs of its node" test "$(grep -c '^shrinks .*gpus 0,1,2,3 ' ranks)" = 8
kept=$(id keeps) shrunk=$(id shrinks) grown=$(id grows)

{
	echo jobs:
	job keeps 2 v100 100 "$(at keeps v100)"
	job shrinks 4 a100 1 "$(at shrinks a100)"
	job grows 8 a100 1 "$(at grows a100)"
	job moves 4 v100 100 "$(at moves a100)"
	job pauses 4 v100 0.001 "$(at pauses v100)"
} >jobs2.yaml
plan 2
actions=$(grep -o '"action": *"[a-z]*"' plan2.json | grep -o '[a-z]*"$' | tr -d '"' | paste -sd,)
check "plan 2 keeps, shrinks, grows, moves and pauses: $actions" test "$actions" = keep,shrink,grow,move,pause
check "plan 2 is carried out" timeout 300 plan2/submit.sh
for job in "shrinks 4" "grows 8" "moves 4"; do
	check "all tasks of ${job% *} run" within 60 all_up $job
done
check "keeps is the job it was" test "$(id keeps)" = "$kept"
check "shrinks has shrunk in place" test "$(id shrinks)" = "$shrunk"
check "and has one node" looks shrinks RUNNING 1 4 gres:gpu:a100:4
check "grows has been submitted anew" test "$(id grows)" != "$grown"
check "and has two nodes" looks grows RUNNING 2 8 gres:gpu:a100:4
check "moves has four v100" looks moves RUNNING 1 4 gres:gpu:v100:4
check "pauses is gone" test -z "$(id pauses)"
for job in "shrinks 8" "grows 4" "moves 4" "pauses 4"; do
	check "every task of ${job% *} wrote its checkpoint" exactly checkpoints "^${job% *} [0-9]* of ${job#* }\$" "${job#* }"
done
check "no task of keeps was disturbed" exactly checkpoints '^keeps ' 0
check "no file of Slurm is left in the folder" test -z "$(find plan2 -name '*resize*')"

# Fewer workers on a node cannot be had in place: the job is submitted anew,
# and there is no second one of its name.
{
	echo jobs:
	job shrinks 2 a100 1 "$(at shrinks a100)"
} >jobs3.yaml
plan 3
check "plan 3 is carried out" timeout 300 plan3/submit.sh
check "all tasks of shrinks run" within 60 all_up shrinks 2
check "there is one job of that name" test "$(id shrinks | wc -l)" = 1
check "with two GPUs" looks shrinks RUNNING 1 2 gres:gpu:a100:2

# Parameter servers are tasks of the job as their workers are, on the same node.
scancel --user=root
none() { [ -z "$(squeue --noheader)" ]; }
check "all jobs are cancelled" within 30 none
{
	echo job,gpu_type,mode,placement,ps,local_batch,step_time_s,status
	for at in 1:0 2:0.01 4:0.02; do
		for ps in 1 2; do
			for batch in 16 32; do
				awk -v p="${at%:*}" -v s="${at#*:}" -v n=$ps -v b=$batch 'BEGIN { printf "toy,a100,ps-sync,%s,%d,%d,%.4f,ok\n", p, n, b, 0.2 * b / 32 + s + 0.1 / n }'
			done
		done
	done
} >ps.csv
check "speeds with parameter servers are fitted" "$KNEE" fit -q ps.csv -f toy.json
{
	echo jobs:
	job servers 2 a100 1
} >jobs4.yaml
check "a plan with two of them is made" "$KNEE" allocate --cluster cluster.yaml --jobs jobs4.yaml --plan plan4.json
check "and exported" "$KNEE" export plan4.json --to slurm -d plan4
check "and submitted" timeout 60 plan4/submit.sh
check "both workers and both servers run" within 30 all_up servers 4
first=$(id servers)
check "it is submitted again" timeout 60 plan4/submit.sh
check "and stays the one job that it was" test "$(id servers)" = "$first"
