package data

import "strings"

// GPUFeatures is what the data sheet of a GPU says. The numbers let a model
// measured on one type be compared with another; they are upper bounds that
// no training job reaches.
type GPUFeatures struct {
	Type      string  // the name in gpu_type columns, "a100"
	Memory    int64   // bytes of device memory, of the smallest variant sold under the name
	Half      float64 // peak dense TFLOPS of 16-bit tensor operations, 0 where there are none
	Single    float64 // peak TFLOPS of 32-bit arithmetic outside tensor cores
	Bandwidth float64 // GB/s of device memory
	Link      float64 // GB/s to the other GPUs of the node over NVLink, both directions; 0 for a card on PCIe
}

// gib is a gibibyte, the unit in which memory is sold.
const gib = 1 << 30

// gpuTable holds the types found in training clusters, from NVIDIA's public
// data sheets of each product (SXM variant where there are several, memory of
// the smallest). Half precision is without sparsity.
func gpuTable() []GPUFeatures {
	return []GPUFeatures{
		{"k80", 12 * gib, 0, 4.4, 240, 0}, // one of the two GPUs of a board
		{"m60", 8 * gib, 0, 4.8, 160, 0},  // one of two
		{"p4", 8 * gib, 0, 5.5, 192, 0},
		{"p40", 24 * gib, 0, 12, 346, 0},
		{"p100", 12 * gib, 21.2, 10.6, 549, 160},
		{"v100", 16 * gib, 125, 15.7, 900, 300},
		{"t4", 16 * gib, 65, 8.1, 320, 0},
		{"rtx6000", 24 * gib, 130.5, 16.3, 672, 0},
		{"a10", 24 * gib, 125, 31.2, 600, 0},
		{"a10g", 24 * gib, 70, 31.5, 600, 0},
		{"a16", 16 * gib, 35.9, 9, 200, 0}, // one of four
		{"a30", 24 * gib, 165, 10.3, 933, 0},
		{"a40", 48 * gib, 149.7, 37.4, 696, 0},
		{"a6000", 48 * gib, 154.8, 38.7, 768, 0},
		{"a100", 40 * gib, 312, 19.5, 1555, 600},
		{"l4", 24 * gib, 121, 30.3, 300, 0},
		{"l40", 48 * gib, 181, 90.5, 864, 0},
		{"l40s", 48 * gib, 362, 91.6, 864, 0},
		{"h100", 80 * gib, 989, 67, 3350, 900},
		{"h200", 141 * gib, 989, 67, 4800, 900},
		{"b200", 180 * gib, 2250, 75, 7700, 1800},
	}
}

// GPUFeaturesOf returns the features of a GPU type; ok is false for a type
// that the table does not hold.
func GPUFeaturesOf(gpuType string) (f GPUFeatures, ok bool) {
	for _, g := range gpuTable() {
		if g.Type == gpuType {
			return g, true
		}
	}
	return GPUFeatures{}, false
}

// GPUTypeOf returns the gpu_type of a product's name as drivers and
// schedulers write it: "NVIDIA A100-SXM4-80GB" and "nvidia_a100_80gb_pcie"
// are a100, "Tesla V100-PCIE-16GB" is v100, "NVIDIA GeForce RTX 3090" is
// rtx3090. Makers, brands, form factors and memory sizes are left out. A name
// of nothing else is returned in lower case with hyphens between its words.
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

// gpuNoise reports whether a word of a product's name does not tell its type.
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
