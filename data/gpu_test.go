package data_test

import (
	"slices"
	"testing"

	"knee/data"
)

func TestGPUTypeOf(t *testing.T) {
	for product, want := range map[string]string{
		"NVIDIA A100-SXM4-80GB": "a100", "NVIDIA A100 80GB PCIe": "a100", "nvidia_a100_80gb_pcie": "a100", "Tesla V100-PCIE-16GB": "v100",
		"Tesla V100-SXM2-32GB": "v100", "Tesla T4": "t4", "NVIDIA GeForce RTX 3090": "rtx3090", "NVIDIA GeForce RTX 4070 Ti": "rtx4070-ti",
		"Quadro RTX 6000": "rtx6000", "NVIDIA RTX A6000": "a6000", "NVIDIA L40S": "l40s", "NVIDIA H100 80GB HBM3": "h100", "NVIDIA H100 NVL": "h100",
		"NVIDIA H200": "h200", "NVIDIA A10G": "a10g", "Tesla P100-PCIE-12GB": "p100", "v100": "v100", "NVIDIA": "nvidia", "": "",
	} {
		if got := data.GPUTypeOf(product); got != want {
			t.Errorf("%q is %q, want %q", product, got, want)
		}
	}
}

func TestGPUs(t *testing.T) {
	all := data.GPUs()
	if !slices.IsSortedFunc(all, func(a, b data.GPU) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	}) {
		t.Error("the types are not in the order of their names, each once")
	}
	for _, g := range all {
		if found, ok := data.FindGPU(g.Name); !ok || found != g {
			t.Errorf("%s is found as %+v", g.Name, found)
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
