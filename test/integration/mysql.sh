# Two profiles share a study in a real MariaDB, one is killed.
. "$(dirname "$0")/lib.sh"
cd "$WORK"
need mariadb-server mariadbd
need mariadb-client mariadb

as() { # with its temporary files where it may write them, whatever /tmp allows
	if [ "$(id -u)" = 0 ]; then runuser -u mysql -- env TMPDIR="$WORK/server" "$@"; else "$@"; fi
}
mkdir server
if [ "$(id -u)" = 0 ]; then chown mysql server; fi
db=$WORK/server
port=$("$CLONE/test/free_port")
as mariadb-install-db --no-defaults --datadir="$db/data" --auth-root-authentication-method=normal >install.log 2>&1 || { cat install.log; exit 1; }
as mariadbd --no-defaults --datadir="$db/data" --socket="$db/socket" --pid-file="$db/pid" --bind-address=127.0.0.1 --port=$port >>server.log 2>&1 &
started=()
cleanup() {
	for pid in "${started[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
	as kill "$(cat "$db/pid")" && within 30 test ! -e "$db/pid"
}
trap cleanup EXIT
query() { mariadb --no-defaults -u root -S "$db/socket" -N -B -e "$1" 2>>query.log; }
within 30 query "SELECT 1" >/dev/null || { cat server.log; exit 1; }
query "CREATE DATABASE study; DROP USER IF EXISTS ''@localhost; CREATE USER knee@'%' IDENTIFIED BY 'hunter2'; GRANT ALL ON study.* TO knee@'%'; FLUSH PRIVILEGES"

cat >train.sh <<'EOF' # which does not end before the other profile is killed
for i in $(seq 60); do
	echo "knee: {\"step\":$i,\"step_time_s\":0.01$((i * 7 % 5)),\"loss\":1.5}"
	sleep 0.01112
done
until [ -e killed ]; do sleep 0.01112; done
EOF
cat >study.yaml <<EOF
job: shared
command: [bash, train.sh]
space: {workers: [1, 2, 3, 4, 5, 6]}
objective: accuracy
budget: {trials: 6}
trial: {rel_precision: 0.0001, max_seconds: 600, min_steps: 1000}
storage: mysql://knee:hunter2@127.0.0.1:$port/study
EOF
for name in a b; do
	mkdir $name
	"$KNEE" profile study.yaml --strategy random --dir $name --lease 4s >$name/out 2>$name/err &
	started+=($!)
done
for name in a b; do within 30 holds $name/err 'trial started' 1; done
kill -9 "${started[0]}"
wait "${started[0]}" 2>/dev/null || true
touch killed
code=0
wait "${started[1]}" || code=$?
[ $code = 0 ] || cat b/err
check "a profile survives the death of the other" test $code = 0
check "it has all measurements" exactly b/study.measurements.csv ',ok,' 6
check "it took the other's trial over" holds b/err 'trial taken over' 1
check "6 trials for 6 configurations, none twice" test "$(query "SELECT count(*), count(DISTINCT config), max(number) FROM study.knee_trials" | tr '\t' '|')" = "6|6|6"
check "none is left running" test "$(query "SELECT count(*) FROM study.trials WHERE state <> 'COMPLETE'")" = 0
check "no process is left" no_process "sleep 0.01112"
check "no password in any output" bash -c '! grep -r hunter2 a b'
