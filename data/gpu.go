package data

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// GPUs returns the types that are known, by name. The figures are peak values of
// data sheets; training reaches different fractions of them, but their ratios
// order the types well enough to transfer from one to another.
func GPUs() []GPU { return slices.Clone(gpus()) }

var gpus = sync.OnceValue(func() (all []GPU) {
	for line := range strings.Lines(gpuTable) {
		if cells := strings.Split(strings.TrimSpace(line), ","); line[0] != '#' {
			g := GPU{Name: cells[0]}
			for i, to := range []*float64{&g.TFLOPS, &g.Memory, &g.Bandwidth, &g.Link} {
				var err error
				if *to, err = strconv.ParseFloat(cells[1+i], 64); err != nil {
					panic("data: gpus.csv: " + err.Error())
				}
			}
			all = append(all, g)
		}
	}
	return all
})

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
	for _, g := range gpus() {
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
	for _, g := range gpus() {
		names = append(names, g.Name)
	}
	return names
}
