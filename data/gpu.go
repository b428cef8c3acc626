package data

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"knee/internal/list"
)

// GPU is a type of accelerator with the figures that decide its training speed.
type GPU struct {
	Name      string  // as in gpu_type
	TFLOPS    float64 // dense half precision (FP16 or BF16, tensor cores where there are any, no sparsity), 10¹² operations/s
	Memory    float64 // GB
	Bandwidth float64 // of its memory, GB/s
	Link      float64 // GB/s to other GPUs over NVLink or a similar fabric, both directions; 0 for a card on PCIe
}

//go:embed gpus.csv
var gpuTable string

// gpus are the known types, by names without hyphens. Figures are peak values of data
// sheets; their ratios order the types well enough to transfer from one to another.
var gpus = sync.OnceValue(func() map[string]GPU {
	all := map[string]GPU{}
	for line := range strings.Lines(gpuTable) {
		if cells := strings.Split(strings.TrimSpace(line), ","); line[0] != '#' {
			g := GPU{Name: cells[0]}
			for i, to := range []*float64{&g.TFLOPS, &g.Memory, &g.Bandwidth, &g.Link} {
				var err error
				if *to, err = strconv.ParseFloat(cells[1+i], 64); err != nil {
					panic("data: gpus.csv: " + err.Error())
				}
			}
			all[strings.ReplaceAll(g.Name, "-", "")] = g
		}
	}
	return all
})

// FindGPU returns the type of a name as people, drivers and schedulers write it: "t4",
// "NVIDIA A100-SXM4-80GB", "nvidia_a100_80gb_pcie", "GA100 [A100 PCIe 80GB]". Memory and
// form factor choose between variants; a size that the type lacks, "h100-96gb", and a MIG
// slice, "a100-1g.10gb", are types of their own. The rest of the name must match.
func FindGPU(name string) (GPU, bool) {
	n := parseGPUName(name)
	gb := fmt.Sprintf("%dgb", n.memory) // "0gb", of which there is no type, if it says none
	for _, variant := range []string{gb, cmp.Or(n.form, gb), ""} {
		g, known := gpus()[n.words+variant]
		if !known || variant != gb && strings.HasSuffix(g.Name, "gb") {
			continue
		}
		switch own := float64(n.memory); {
		case n.slice != "":
			// A slice has some of the 7 parts of a card, whichever variant, and no link.
			card, _, _ := strings.Cut(g.Name, "-")
			share := float64(n.slice[0]-'0') / 7
			g = GPU{Name: card + "-" + n.slice, TFLOPS: share * g.TFLOPS, Memory: own, Bandwidth: share * g.Bandwidth}
		case own > 0 && own != g.Memory && !strings.HasPrefix(g.Name, "gh"): // of a Grace superchip it is that of the processor
			g.Name, g.Memory = g.Name+"-"+gb, own
		}
		return g, true
	}
	return GPU{}, false
}

// GPUTypeOf returns the gpu_type of a name: that of [FindGPU]; of other products of known
// vendors without vendor, brand and form factor, "rtx4070-ti"; else the lower case.
func GPUTypeOf(name string) string {
	if g, ok := FindGPU(name); ok {
		return g.Name
	}
	n := parseGPUName(name)
	if !n.product || n.plain == "" {
		return strings.ToLower(strings.TrimSpace(name))
	}
	if n.memory > 0 && n.slice == "" {
		n.slice = fmt.Sprintf("%dgb", n.memory)
	}
	return strings.TrimSuffix(n.plain+"-"+n.slice, "-")
}

// gpuName is the name of a GPU taken apart.
type gpuName struct {
	words   string // without what follows, joined
	plain   string // the same with hyphens
	form    string // pcie or nvl, if it says so
	slice   string // of MIG, such as 1g.10gb
	memory  int    // GB of the card or the slice; 0: it does not say
	product bool   // it has the name of a vendor or brand
}

var migSlice = regexp.MustCompile(`\b(?:mig-)?([1-7]g\.([0-9]+)gb)\b`)

func parseGPUName(name string) (n gpuName) {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	name, _, _ = strings.Cut(name[strings.LastIndexByte(name, '[')+1:], "]") // lspci: GA100 [A100 SXM4 80GB] (rev a1)
	slice := migSlice.FindStringSubmatch(name)
	if slice != nil {
		name = strings.Replace(name, slice[0], "", 1)
	}
	var kept []string
	for _, w := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		digits := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(w, "b"), "i"), "g")
		unit, last := w[len(digits):], len(kept)-1
		apart := digits == "" && len(unit) > 1 && last >= 0 // "24 GB"
		if apart {
			digits = kept[last]
		}
		size, err := strconv.Atoi(digits)
		switch {
		case strings.HasPrefix(unit, "g") && err == nil:
			n.memory = size
			if apart {
				kept = kept[:last]
			}
		case slices.Contains([]string{"nvidia", "tesla", "geforce", "quadro", "amd", "instinct", "google"}, w):
			n.product = true
		case w == "pcie" || w == "nvl":
			n.form = w
		case strings.HasPrefix(w, "sxm") || strings.HasPrefix(w, "hbm") || strings.HasPrefix(w, "gddr") ||
			slices.Contains([]string{"oam", "mig", "gpu", "graphics", "corporation", "generation", "blackwell", "server", "workstation", "edition"}, w):
		default:
			kept = append(kept, w)
		}
	}
	if slice != nil {
		n.slice = slice[1]
		n.memory, _ = strconv.Atoi(slice[2])
	}
	switch {
	case len(kept) > 1 && kept[0] == "rtx" && kept[1][0] == 'a' && kept[1] != "ada":
		kept = kept[1:] // "RTX A6000"
	case len(kept) > 1 && (kept[0] == "rtx" || kept[0] == "gtx"):
		kept = append([]string{kept[0] + kept[1]}, kept[2:]...)
	}
	n.words, n.plain = strings.Join(kept, ""), strings.Join(kept, "-")
	return n
}

// GPUNames lists the known GPU types, sorted.
func GPUNames() []string {
	all := slices.Collect(maps.Values(gpus()))
	return slices.Sorted(slices.Values(list.Map(all, func(g GPU) string { return g.Name })))
}
