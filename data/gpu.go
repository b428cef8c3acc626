package data

import "strings"

// GPU is a type of accelerator with the figures that decide its training speed.
type GPU struct {
	Name      string  // as in gpu_type
	TFLOPS    float64 // dense half precision (FP16 or BF16, tensor cores where there are any, no sparsity), 10¹² operations/s
	Memory    float64 // GB
	Bandwidth float64 // of its memory, GB/s
	Link      float64 // GB/s to other GPUs over NVLink or a similar fabric, both directions; 0 for a card on PCIe
}

// GPUs returns the types that are known, by name. The figures are the peak
// values of the vendors' data sheets (NVIDIA data sheets of K80 to GB300, AMD
// Instinct MI100 to MI355X, Google Cloud TPU system architecture pages);
// training reaches different fractions of them, but their ratios order the
// types well enough to transfer from one to another. Types sold with several
// memory sizes carry the size in their name; the plain name is the smallest.
func GPUs() []GPU {
	return []GPU{
		{"a10", 125, 24, 600, 0},
		{"a100", 312, 40, 1555, 600},
		{"a100-80gb", 312, 80, 2039, 600},
		{"a10g", 70, 24, 600, 0},
		{"a16", 35.9, 16, 200, 0}, // one of the four chips of a board
		{"a30", 165, 24, 933, 0},
		{"a40", 149.7, 48, 696, 0},
		{"a5000", 111.1, 24, 768, 0},
		{"a6000", 154.8, 48, 768, 0},
		{"a800", 312, 80, 2039, 400},
		{"b200", 2250, 192, 8000, 1800},
		{"b300", 2250, 288, 8000, 1800},
		{"gb200", 2500, 192, 8000, 1800},
		{"gb300", 2500, 288, 8000, 1800},
		{"gh200", 990, 96, 4000, 900},
		{"h100", 990, 80, 3350, 900},
		{"h100-pcie", 756, 80, 2000, 0},
		{"h200", 990, 141, 4800, 900},
		{"h800", 990, 80, 3350, 400},
		{"k80", 4.1, 12, 240, 0}, // one of the two chips of a board; no faster half precision
		{"l4", 121, 24, 300, 0},
		{"l40", 181, 48, 864, 0},
		{"l40s", 362, 48, 864, 0},
		{"m60", 4.8, 8, 160, 0},
		{"mi100", 184.6, 32, 1229, 276},
		{"mi210", 181, 64, 1638, 300},
		{"mi250x", 191.5, 64, 1638, 800}, // one of the two chips, which count as a GPU each
		{"mi300x", 1307, 192, 5300, 896},
		{"mi325x", 1307, 256, 6000, 896},
		{"mi355x", 2500, 288, 8000, 1075},
		{"p100", 21.2, 16, 732, 160},
		{"p4", 5.5, 8, 192, 0},
		{"p40", 12, 24, 346, 0},
		{"rtx2080ti", 107.6, 11, 616, 0},
		{"rtx3090", 142, 24, 936, 0},
		{"rtx4090", 330, 24, 1008, 0},
		{"rtx5090", 419, 32, 1792, 0},
		{"rtx6000", 130.5, 24, 672, 0},
		{"rtx6000-ada", 364, 48, 960, 0},
		{"rtxpro6000", 504, 96, 1792, 0},
		{"t4", 65, 16, 320, 0},
		{"titan-rtx", 130, 24, 672, 0},
		{"tpu-v3", 61.5, 16, 450, 82}, // per core
		{"tpu-v4", 275, 32, 1228, 300},
		{"tpu-v5e", 197, 16, 819, 200},
		{"tpu-v5p", 459, 95, 2765, 600},
		{"tpu-v6e", 918, 32, 1640, 448},
		{"v100", 125, 16, 900, 300},
		{"v100-32gb", 125, 32, 900, 300},
	}
}

// FindGPU returns the type called name. Case, blanks and a leading vendor do
// not matter ("NVIDIA A100", "nvidia-tesla-t4" and "t4" are known). A memory
// size without an entry gives the plain type. The rest of the name must match,
// so that an unknown variant is not taken for a known type.
func FindGPU(name string) (GPU, bool) {
	product := name
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
	if plain := GPUTypeOf(product); plain != product {
		return FindGPU(plain)
	}
	return GPU{}, false
}

// GPUTypeOf returns the gpu_type of a product's name as drivers and schedulers
// write it: "NVIDIA A100-SXM4-80GB" and "nvidia_a100_80gb_pcie" are a100,
// "Tesla V100-PCIE-16GB" is v100, "NVIDIA GeForce RTX 3090" is rtx3090.
// Vendors, brands, form factors and memory sizes are dropped; a name with
// nothing else is returned in lower case with hyphens between its words.
func GPUTypeOf(product string) string {
	words := strings.FieldsFunc(strings.ToLower(product), func(r rune) bool {
		return r == ' ' || r == '-' || r == '_' || r == '/' || r == '.'
	})
	var kept []string
	for _, w := range words {
		if !gpuNoise(w) {
			kept = append(kept, w)
		}
	}
	switch {
	case len(kept) == 0:
		return strings.Join(words, "-")
	case len(kept) > 1 && kept[0] == "rtx" && kept[1][0] == 'a':
		kept = kept[1:] // "RTX A6000"
	case len(kept) > 1 && (kept[0] == "rtx" || kept[0] == "gtx"):
		kept = append([]string{kept[0] + kept[1]}, kept[2:]...)
	}
	return strings.Join(kept, "-")
}

// gpuNoise reports whether a word of a product's name is not part of its type.
func gpuNoise(word string) bool {
	switch word {
	case "nvidia", "tesla", "geforce", "quadro", "pcie", "nvl", "hbm2", "hbm2e", "hbm3", "hbm3e", "graphics", "gpu":
		return true
	}
	if strings.HasPrefix(word, "sxm") {
		return true
	}
	size, found := strings.CutSuffix(word, "gb")
	return found && strings.Trim(size, "0123456789") == ""
}

// GPUNames lists the known GPU types.
func GPUNames() []string {
	var names []string
	for _, g := range GPUs() {
		names = append(names, g.Name)
	}
	return names
}
