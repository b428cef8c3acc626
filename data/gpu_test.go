package data_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
)

// TestGPUTypeOf: the names of nvidia-smi, PyTorch, DCGM, lspci, rocm-smi and the labels of
// Kubernetes and Slurm lead to one type, with its memory in GB; 0: not known.
func TestGPUTypeOf(t *testing.T) {
	type gpu struct {
		name   string
		memory float64
	}
	for product, want := range map[string]gpu{
		"NVIDIA A100-SXM4-80GB": {"a100-80gb", 80}, "NVIDIA A100 80GB PCIe": {"a100-80gb", 80}, "nvidia_a100_80gb_pcie": {"a100-80gb", 80},
		"NVIDIA Corporation GA100 [A100 PCIe 80GB] (rev a1)": {"a100-80gb", 80}, "a100_80gb": {"a100-80gb", 80}, "nvidia-a100-80gb": {"a100-80gb", 80},
		"NVIDIA A100-SXM4-40GB": {"a100", 40}, "A100-PCIE-40GB": {"a100", 40}, "nvidia-tesla-a100": {"a100", 40}, "NVIDIA A100-SXM-64GB": {"a100-64gb", 64},
		"Tesla V100-PCIE-16GB": {"v100", 16}, "Tesla V100-SXM2-32GB": {"v100-32gb", 32}, "Tesla V100S-PCIE-32GB": {"v100s", 32}, "v100": {"v100", 16},
		"NVIDIA Corporation GV100GL [Tesla V100 SXM2 32GB]": {"v100-32gb", 32}, "Tesla P100-PCIE-12GB": {"p100-12gb", 12},
		"NVIDIA H100 80GB HBM3": {"h100", 80}, "H100 SXM5 80GB": {"h100", 80}, "H100-SXM": {"h100", 80}, "NVIDIA H100 PCIe": {"h100-pcie", 80},
		"NVIDIA H100 NVL": {"h100-nvl", 94}, "NVIDIA-H100-96GB-HBM3": {"h100-96gb", 96}, "NVIDIA H200": {"h200", 141}, "NVIDIA H200 NVL": {"h200", 141},
		"NVIDIA GH200 480GB": {"gh200", 96}, "NVIDIA GH200 144G HBM3e": {"gh200-144gb", 144}, "NVIDIA A10G": {"a10g", 24}, "NVIDIA L40S": {"l40s", 48},
		"NVIDIA GeForce RTX 3090": {"rtx3090", 24}, "NVIDIA GeForce RTX 4090": {"rtx4090", 24}, "NVIDIA GeForce RTX 2080 Ti": {"rtx2080ti", 11},
		"Quadro RTX 6000": {"rtx6000", 24}, "NVIDIA RTX A6000": {"a6000", 48}, "NVIDIA RTX 6000 Ada Generation": {"rtx6000-ada", 48},
		"NVIDIA RTX PRO 6000 Blackwell Server Edition": {"rtxpro6000", 96}, "NVIDIA TITAN RTX": {"titan-rtx", 24}, "Tesla T4": {"t4", 16},
		"AMD Instinct MI300X": {"mi300x", 192}, "AMD Instinct MI300X OAM": {"mi300x", 192},
		// People write a blank or a hyphen before the unit, or leave the vendor out.
		"RTX 3090 24 GB": {"rtx3090", 24}, "GeForce RTX 4090": {"rtx4090", 24}, "RTX 4090 24GB GDDR6X": {"rtx4090", 24}, "L40S-48GB": {"l40s", 48},
		"T4 16 GiB": {"t4", 16}, "A100 40 GB": {"a100", 40}, "A100 (80 GB SXM4)": {"a100-80gb", 80}, "V100-32-GB": {"v100-32gb", 32}, "H200 141GB": {"h200", 141},
		"AMD Instinct MI300X 192 GB": {"mi300x", 192}, "MI300X 192GB": {"mi300x", 192}, "RTX A6000 48 GB": {"a6000", 48}, "GH200 480 GB": {"gh200", 96},
		// A slice is not the card.
		"NVIDIA-A100-SXM4-80GB-MIG-1g.10gb": {"a100-1g.10gb", 10}, "NVIDIA A100-SXM4-80GB MIG 3g.40gb": {"a100-3g.40gb", 40}, "a100_1g.10gb": {"a100-1g.10gb", 10},
		// Of unknown ones nothing is guessed.
		"NVIDIA GeForce RTX 4070 Ti": {"rtx4070-ti", 0}, "NVIDIA-A100-SXM4-80GB-SHARED": {"a100-shared-80gb", 0}, "A100-40GB-custom": {"a100-40gb-custom", 0},
		"v100_unconsolidated": {"v100_unconsolidated", 0}, "1g.10gb": {"1g.10gb", 0}, "NVIDIA": {"nvidia", 0}, "cpu": {"cpu", 0}, "": {"", 0},
	} {
		got := data.GPUTypeOf(product)
		if g, _ := data.FindGPU(product); got != want.name || g.Memory != want.memory || data.GPUTypeOf(got) != got {
			t.Errorf("%q is %q with %g GB, want %+v; that is %q", product, got, g.Memory, want, data.GPUTypeOf(got))
		}
	}
	card, _ := data.FindGPU("a100")
	if slice, _ := data.FindGPU("a100-1g.10gb"); slice.TFLOPS != card.TFLOPS/7 || slice.Link != 0 {
		t.Errorf("a seventh of %+v is %+v", card, slice)
	}
}

// TestGPUTypeIsAGPUType: the type of a type is the same type.
func TestGPUTypeIsAGPUType(t *testing.T) {
	words := rapid.SliceOf(rapid.SampledFrom([]string{"nvidia", "tesla", "a100", "h100", "gh200", "rtx", "gtx", "a", "4090", "l4", "sxm4", "pcie", "nvl", "80gb", "0gb", "7gb",
		"480GB", "1g.10gb", "mig", "MIG-2g.7gb", "[", "]", "-", " ", "_", "!", "é", "24 GB", "GiB"}))
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(words.Draw(t, "words"), rapid.SampledFrom([]string{"", " ", "-"}).Draw(t, "between"))
		if once := data.GPUTypeOf(name); data.GPUTypeOf(once) != once {
			t.Fatalf("%q is %q, which is %q", name, once, data.GPUTypeOf(once))
		}
	})
}

func TestGPUs(t *testing.T) {
	names := data.GPUNames()
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error("the types are not in the order of their names, each once")
	}
	for _, name := range names {
		g, ok := data.FindGPU(name)
		if !ok || g.Name != name {
			t.Errorf("%s is found as %+v", name, g)
		}
		// No accelerator does fewer than 10 or more than 1000 operations per byte: a
		// figure beyond has a wrong unit.
		if ratio := 1000 * g.TFLOPS / g.Bandwidth; ratio < 10 || ratio > 1000 || g.Memory < 4 || g.Memory > 300 {
			t.Errorf("%+v is out of proportion", g)
		}
	}
}

func TestFindGPU(t *testing.T) {
	for name, want := range map[string]string{
		"t4": "t4", "NVIDIA Tesla T4": "t4", "nvidia-tesla-v100": "v100", "A100": "a100", "A100 80GB": "a100-80gb",
		"A100-40GB-custom": "", "a100-40gb": "a100", "GH200-96GB": "gh200", "": "", "cpu": "", "a": "", "RTX 3090": "rtx3090", "Titan_RTX": "titan-rtx",
	} {
		g, ok := data.FindGPU(name)
		if g.Name != want || ok != (want != "") {
			t.Errorf("FindGPU(%q) = %q, %v; want %q", name, g.Name, ok, want)
		}
	}
}
