package data

import (
	"slices"
	"testing"
)

func TestGPUs(t *testing.T) {
	all := GPUs()
	if !slices.IsSortedFunc(all, func(a, b GPU) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	}) {
		t.Error("the types are not in the order of their names, each once")
	}
	for _, g := range all {
		if found, ok := FindGPU(g.Name); !ok || found != g {
			t.Errorf("%s is found as %+v", g.Name, found)
		}
		// No accelerator does fewer than 10 or more than 1000 operations per
		// byte: a figure beyond is a slip of unit.
		if ratio := 1000 * g.TFLOPS / g.Bandwidth; ratio < 10 || ratio > 1000 || g.Memory < 4 || g.Memory > 300 {
			t.Errorf("%+v is out of proportion", g)
		}
	}
}

func TestFindGPU(t *testing.T) {
	for name, want := range map[string]string{
		"t4": "t4", "NVIDIA Tesla T4": "t4", "nvidia-tesla-v100": "v100", "A100": "a100", "A100 80GB": "a100-80gb",
		"A100-40GB-custom": "", "": "", "cpu": "", "a": "", "RTX 3090": "rtx3090", "Titan_RTX": "titan-rtx",
	} {
		g, ok := FindGPU(name)
		if g.Name != want || ok != (want != "") {
			t.Errorf("FindGPU(%q) = %q, %v; want %q", name, g.Name, ok, want)
		}
	}
}
