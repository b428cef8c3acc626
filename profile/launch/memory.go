package launch

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/dustin/go-humanize"
)

// memoryFormat is how a program prints memory: an expression with peak, device, unit.
type memoryFormat struct {
	mark  string // text in every such line; searched for first, which is much cheaper
	line  *regexp.Regexp
	bytes float64 // per number without a unit group
}

const mebi, gibi = 1 << 20, 1 << 30

// memoryFormats are lines from the programs' sources, of which most call 2³⁰ bytes a GB. A
// unit in a user's line is taken literally. max_memory_allocated counts PyTorch's tensors;
// reserved memory, cgroups and nvidia-smi include more.
var memoryFormats = sync.OnceValue(func() []memoryFormat {
	peak := `(?P<peak>[0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?)`
	device := `(?P<device>[0-9][0-9.]*)`
	f := func(mark, expr string, bytes float64) memoryFormat {
		return memoryFormat{mark, regexp.MustCompile(expr), bytes}
	}
	mem := `[ _](?:gpu[ _]|cuda[ _])?mem(?:ory)?(?:[ _](?:allocated|usage|used))?\b[^0-9]{0,8}` + peak + ` *(?P<unit>[KMGT]i?B|bytes)\b`
	return []memoryFormat{
		// megatron/training/utils.py, report_memory.
		f("max allocated: ", `memory \(MB\) \|.*\bmax allocated: `+peak, mebi),
		// deepspeed/utils/timer.py, ThroughputTimer; runtime/utils.py, see_memory_usage.
		f("MaxMemAllocated=", `\bMaxMemAllocated=`+peak+` ?GB`, gibi),
		f("Max_MA ", `\bMax_MA `+peak+` GB`, gibi),
		// torchtitan/components/metrics.py: the most reserved since the last line.
		f("GiB(", `\bmemory: +`+peak+`GiB\(`, gibi),
		// torchvision, references; detectron2, CommonMetricPrinter.
		f("mem: ", `\bmax[ _]mem: `+peak+`M?\b`, mebi),
		// The table of nvidia-smi, and its --format=csv of memory.used,memory.total.
		f("MiB", `\b`+peak+` ?MiB(?: /|,) *`+device+` ?MiB\b`, mebi),
		// cgroup v2, as grep -H . or a script's echo prints it.
		f("memory.peak", `\bmemory\.peak[:=\s]+`+peak+`\s*$`, 1),
		// PyTorch's out-of-memory message: memory of the device.
		f("total capacity", `(?i)out of memory.*?\b`+device+` GiB total capacity`, gibi),
		f("total capacity", `(?i)out of memory.*?\btotal capacity of `+device+` GiB`, gibi),
		// torch.cuda.max_memory_allocated() as scripts print it.
		f("max_memory_allocated", `\bmax_memory_allocated\b[^0-9]{0,16}`+peak+` *(?:(?P<unit>[KMGT]i?B|B|bytes)\b|[^\w.]|$)`, 1),
		f("eak", `(?i)\bpeak`+mem, 1), f("ax", `(?i)\bmax(?:imum)?`+mem, 1),
	}
})

func memoryIn(line string) (peak, device float64) {
	for _, f := range memoryFormats() {
		if !strings.Contains(line, f.mark) {
			continue
		}
		match := f.line.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		unit := f.bytes
		if i := f.line.SubexpIndex("unit"); i >= 0 && match[i] != "" {
			n, _ := humanize.ParseBytes("1" + strings.TrimSuffix(strings.ToLower(match[i]), "ytes")) // the expression matches units only
			unit = float64(n)
		}
		bytes := func(group string) float64 {
			i := f.line.SubexpIndex(group)
			if i < 0 {
				return 0
			}
			v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimRight(match[i], ".,"), ",", ""), 64)
			if v *= unit; err != nil || !(v >= 0 && v < mostMemory) {
				return 0 // not a valid amount of memory; the step still counts
			}
			return math.Round(v)
		}
		return bytes("peak"), bytes("device")
	}
	return 0, 0
}

// mostMemory is an upper limit of plausible bytes; larger numbers are ignored.
const mostMemory = 1 << 50
