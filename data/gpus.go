package data

import "strings"

// GPU describes a type of accelerator by what decides how fast it trains.
type GPU struct {
	Name      string  // as in gpu_type
	TFLOPS    float64 // dense half precision (FP16 or BF16, tensor cores where there are any, no sparsity), 10¹² operations/s
	Memory    float64 // GB
	Bandwidth float64 // of its memory, GB/s
}

// GPUs returns the types that are known, by name. The figures are the peak
// values of the vendors' data sheets (NVIDIA data sheets of K80 to B200, AMD
// Instinct MI100 to MI300X, Google Cloud TPU system architecture pages); what
// training reaches of them differs, but their ratios order the types well
// enough to learn from one about another. Types that are sold with several
// memory sizes carry the size in their name; the plain name is the smallest.
func GPUs() []GPU {
	return []GPU{
		{"a10", 125, 24, 600},
		{"a100", 312, 40, 1555},
		{"a100-80gb", 312, 80, 2039},
		{"a10g", 70, 24, 600},
		{"b200", 2250, 192, 8000},
		{"gb200", 2500, 192, 8000},
		{"gh200", 990, 96, 4000},
		{"h100", 990, 80, 3350},
		{"h100-pcie", 756, 80, 2000},
		{"h200", 990, 141, 4800},
		{"k80", 4.1, 12, 240}, // one of the two chips of a board; no faster half precision
		{"l4", 121, 24, 300},
		{"l40s", 362, 48, 864},
		{"m60", 4.8, 8, 160},
		{"mi100", 184.6, 32, 1229},
		{"mi210", 181, 64, 1638},
		{"mi250x", 191.5, 64, 1638}, // one of the two chips, which count as a GPU each
		{"mi300x", 1307, 192, 5300},
		{"p100", 21.2, 16, 732},
		{"p4", 5.5, 8, 192},
		{"rtx2080ti", 107.6, 11, 616},
		{"rtx3090", 142, 24, 936},
		{"rtx4090", 330, 24, 1008},
		{"rtx6000", 130.5, 24, 672},
		{"t4", 65, 16, 320},
		{"titan-rtx", 130, 24, 672},
		{"tpu-v3", 61.5, 16, 450}, // per core
		{"tpu-v4", 275, 32, 1228},
		{"v100", 125, 16, 900},
		{"v100-32gb", 125, 32, 900},
	}
}

// FindGPU returns the type called name. Case, blanks and a vendor in front
// make no difference ("NVIDIA A100", "nvidia-tesla-t4" and "t4" are known);
// the rest of the name has to match, so that an unknown variant is not taken
// for a known type.
func FindGPU(name string) (GPU, bool) {
	name = strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(strings.TrimSpace(name)))
	for _, vendor := range []string{"nvidia-", "amd-", "google-", "tesla-", "geforce-", "instinct-"} {
		name = strings.TrimPrefix(name, vendor)
	}
	plain := strings.ReplaceAll(name, "-", "")
	for _, g := range GPUs() {
		if g.Name == name || strings.ReplaceAll(g.Name, "-", "") == plain {
			return g, true
		}
	}
	return GPU{}, false
}
