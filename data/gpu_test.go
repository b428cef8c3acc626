package data_test

import (
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

// Every type of the table is its own name, and no faster at 32 bits than with
// tensor cores at 16.
func TestGPUFeatures(t *testing.T) {
	for _, gpu := range []string{"k80", "p100", "v100", "t4", "a100", "a10g", "l4", "h100", "h200", "b200", "rtx6000"} {
		f, ok := data.GPUFeaturesOf(gpu)
		if !ok || f.Memory < 1<<30 || f.Single <= 0 || f.Bandwidth <= 0 || f.Half != 0 && f.Half < f.Single {
			t.Errorf("%s: %+v, %v", gpu, f, ok)
		}
		if got := data.GPUTypeOf("NVIDIA " + gpu); got != gpu {
			t.Errorf("%s is called %s", gpu, got)
		}
	}
	if _, ok := data.GPUFeaturesOf("abacus"); ok {
		t.Error("an unknown type has features")
	}
}
