# What the subjects of test/integration share. A subject is a file of its own
# beside this one; run starts it with
#
#   CLONE  a clean clone of the repository
#   KNEE   knee, built from it
#   WORK   an empty folder that is removed afterwards
#
# It prints a line per check and ends with 0, with 77 if it cannot run here,
# or else with the check that failed.
set -euo pipefail

check() { # check DESCRIPTION COMMAND...
	local what=$1
	shift
	if "$@" >"$WORK/check.log" 2>&1; then
		echo "ok    $what"
	else
		echo "FAIL  $what"
		cat "$WORK/check.log"
		exit 1
	fi
}

skip() { # skip REASON
	echo "skip  $(basename "$0" .sh): $1"
	exit 77
}

# need makes sure that a command is there, and installs its Debian package if
# that is possible.
need() { # need PACKAGE COMMAND
	if command -v "$2" >/dev/null; then return; fi
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		skip "$2 is not installed (Debian package $1)"
	fi
	( # one at a time, as apt wants
		flock 9
		apt-get update -qq -o Acquire::Retries=5
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o Acquire::Retries=5 -o DPkg::Lock::Timeout=300 "$1"
	) 9>"${TMPDIR:-/tmp}/knee-apt.lock" >"$WORK/apt.log" 2>&1 || {
		tail -5 "$WORK/apt.log"
		skip "the Debian package $1 cannot be installed"
	}
}

need procps pgrep

# within waits until the command succeeds. A machine that is slow, or does other
# things, gets five times as long.
within() { # within SECONDS COMMAND...
	local end=$((SECONDS + 5 * $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

holds() { # holds FILE TEXT N: whether at least N lines of a file hold a text
	[ "$(cat "$1" 2>/dev/null | grep -c -- "$2")" -ge "$3" ]
}

exactly() { # exactly FILE TEXT N
	local n
	n=$(cat "$1" 2>/dev/null | grep -c -- "$2" || true)
	[ "$n" = "$3" ] || { echo "$1 holds $n lines with $2, want $3"; cat "$1"; return 1; }
}

dead() { # dead PID: whether a process has ended; a zombie has
	! grep -qs '^State:[[:space:]]*[^Z]' "/proc/$1/status"
}

stop_controller() { # the one of test/engines/slurm in $WORK/slurm, which holds its port until it ends
	local pid
	pid=$(cat "$WORK/slurm/pids/slurmctld")
	kill "$pid"
	within 30 dead "$pid"
}

# interrupt_twice sends SIGTERM to a profile until it stops at once. Within 200 ms
# two count as one.
interrupt_twice() { # interrupt_twice PID LOG
	kill -TERM "$1"
	within 10 holds "$2" 'finishing the running trials' 1
	sleep 1
	kill -TERM "$1"
	within 10 holds "$2" 'stopping now' 1
}

gone() { # gone PATTERN
	! pgrep -f -- "$1" >/dev/null
}

no_process() { # no_process PATTERN: wait until no process has it in its command line
	within 10 gone "$1" || { pgrep -af -- "$1"; return 1; }
}

# control_plane starts a Kubernetes control plane in $WORK/kube and builds the
# programs of test/engines that are named. Whoever calls it stops it again with
# "$engine/down" "$WORK/kube".
control_plane() { # control_plane PROGRAM...
	local code=0 program
	engine=$CLONE/test/engines/kubernetes
	need openssl openssl
	need curl curl
	mkdir -p "$WORK/bin"
	for program in "$@"; do
		(cd "$CLONE" && CGO_ENABLED=0 go build -o "$WORK/bin/$program" ./test/engines/"$program")
	done
	export KUBECONFIG=$WORK/kube/kubeconfig PATH=$WORK/bin:$PATH
	"$engine/up" "$WORK/kube" || code=$?
	[ $code != 77 ] || skip "no etcd"
	check "etcd and the control plane start" test $code = 0
}
