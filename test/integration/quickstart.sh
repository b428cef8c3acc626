# The main job as a newcomer would do it: from the clone, through go run, with
# real training processes.
. "$(dirname "$0")/lib.sh"
cd "$CLONE"

check "go run ./cmd/knee quickstart" bash -c 'go run ./cmd/knee quickstart >summary.txt 2>quickstart.log || { cat quickstart.log; false; }'
cat summary.txt
for f in summary.txt plan.json report.html vision.model.json vision-scalability.png language-scalability.svg allocation.png; do
	check "quickstart wrote $f" test -s "knee-quickstart/$f"
done
check "the exported batch scripts are shell" bash -c 'for f in knee-quickstart/slurm/*.sh knee-quickstart/slurm/*.sbatch; do bash -n "$f"; done'
