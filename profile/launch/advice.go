package launch

import "strings"

// advised is a line of output from which its reader could not tell what to
// do about it.
type advised struct {
	line string
	what string
}

// advices lists the lines that are answered in the failure of a trial.
func advices() []advised {
	return []advised{
		// torch.distributed.elastic, multiprocessing/api.py: Std.from_str looks
		// for NONE among the members of a flag, which since Python 3.11 leave
		// zero out. Seen with PyTorch 1.13 of Debian.
		{"val_or_map.get(i, Std.NONE)",
			"this torchrun works only with its output redirected: put -t1 -r1 --log_dir=/tmp before the script"},
	}
}

// adviceOn returns what to do about a line, empty if it speaks for itself.
func adviceOn(all []advised, line string) string {
	for _, a := range all {
		if strings.Contains(line, a.line) {
			return a.what
		}
	}
	return ""
}
