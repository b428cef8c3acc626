package launch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"knee/data"
)

// oomText matches what frameworks and systems print when memory runs out, not their
// advice on it; also that a launcher, which exits with a code of its own, saw a rank
// killed by signal 9, as the kernel does then. Memory in a static TLS block is of the
// loader of libraries, however much there is of it, and quotas are of services.
var oomText = regexp.MustCompile(`(?i)(?:cuda|hip|xpu|mps backend|error|failure(?: \d+)?|failed|allocation|exhausted|runtime|cgroup)[: '"]+out of memory|` +
	`out of memory(?: error| while trying| allocating|: killed)|out of gpu memory|outofmemory(?:error|exception)(?: *[:('"]|\s*$)|error_?out_?of_?(?:device_|host_)?memory|` +
	`resource_?exhausted|alloc_failed|std::bad_alloc|\bmemoryerror(?: *[:('"]|\s*$)|(?:cannot|can't) allocate memory(?:[^ ]| [^i]|$)|not enough memory: you tried|` +
	`oom when allocating|oom[-_ ]?kill|unable to allocate .* for an array|` +
	`signal 9 \(|signals\.sigkill:|signal sigkill\b|exitcode *: -9\b|return code = -9\b|by signal: killed`)

// memoryWords has a part of every such text. They are searched for first, as that is cheap.
var memoryWords = []string{"ut of ", "UT OF ", "utOfMem", "UT_OF_", "ut_of_", "MemoryError", "enough memory", "_alloc", "_ALLOC", "llocate ", "xhausted", "XHAUSTED",
	"oom", "OOM", "ignal 9", "SIGKILL", " -9", "by signal"}

// noFailure matches words of advice before such a message, and quotas of services.
var noFailure = regexp.MustCompile(`(?i)\b(?:if|avoids?|prevents?|quota)\b`)

// noKills matches what follows where there was none, as after oom_kill in memory.events and
// OOMKilled of a pod.
var noKills = regexp.MustCompile(`^(?:ed|[s" :=])*(?:0|false)\b`)

// SpeaksOfMemory reports whether a line of output says that memory ran out.
func SpeaksOfMemory(line string) bool {
	if !slices.ContainsFunc(memoryWords, func(w string) bool { return strings.Contains(line, w) }) {
		return false
	}
	at := oomText.FindStringIndex(line)
	if at == nil {
		return false
	}
	after := strings.ToLower(line[at[1]:])
	return !noFailure.MatchString(line[:at[0]]) && !strings.Contains(after, "quota") && !noKills.MatchString(after)
}

// exitKilled is 128 + 9, as of a process that the out-of-memory killer has ended.
const exitKilled = 137

type rankEnd struct {
	name   string // "worker 0"
	exit   int    // exit code; 128 + n for signal n
	last   string // its last line of output that was not an observation
	oom    string // the first line that oomText matches
	killed bool   // by the launcher, so that the exit code has no meaning
}

// classify returns the failure of a trial from the ends of its processes, nil if none failed.
// One out of memory makes the trial so, even if another failed first because of it.
func classify(ends []rankEnd) *Failure {
	for _, e := range ends {
		switch {
		case e.exit == 0 || e.killed && e.oom == "":
		case e.oom != "":
			return &Failure{Status: data.OOM, Detail: e.name + ": " + oneLine(e.oom)}
		case e.exit == exitKilled:
			return &Failure{Status: data.OOM, Detail: e.name + ": killed (exit 137), as the out-of-memory killer does" + said(": ", e.last)}
		}
	}
	for _, e := range ends {
		if e.exit != 0 && !e.killed {
			return &Failure{Status: data.Failed, Detail: fmt.Sprintf("%s: exit status %d%s", e.name, e.exit, said(": ", e.last))}
		}
	}
	return nil
}

// said returns what a trial printed last, after some words; empty if it printed nothing.
func said(words, last string) string {
	if last == "" {
		return ""
	}
	return words + oneLine(last)
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 240 {
		s = strings.ToValidUTF8(s[:240], "") + "…"
	}
	return s
}
