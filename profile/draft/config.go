package draft

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// deepspeed holds the layout keys of a DeepSpeed configuration file. The
// Hugging Face Trainer fills in values of "auto".
type deepspeed struct {
	Micro any `yaml:"train_micro_batch_size_per_gpu"`
	Steps any `yaml:"gradient_accumulation_steps"`
	Zero  struct {
		Stage     any `yaml:"stage"`
		Optimizer struct {
			Device string `yaml:"device"`
		} `yaml:"offload_optimizer"`
	} `yaml:"zero_optimization"`
}

type accelerate struct {
	FSDP struct {
		Strategy any  `yaml:"fsdp_sharding_strategy"`
		Again    bool `yaml:"fsdp_activation_checkpointing"`
		Offload  bool `yaml:"fsdp_offload_params"`
	} `yaml:"fsdp_config"`
	DeepSpeed struct {
		Stage     any    `yaml:"zero_stage"`
		Steps     any    `yaml:"gradient_accumulation_steps"`
		Optimizer string `yaml:"offload_optimizer_device"`
	} `yaml:"deepspeed_config"`
}

// readFiles adds the layout in the DeepSpeed and accelerate configuration files
// that the command names. Trials cannot change it.
func (d *drafting) readFiles(dir string) {
	var ds deepspeed
	if file := d.readFile(dir, &ds, []string{"deepspeed", "deepspeed-config", "deepspeed-config-file"}, ".json"); file != "" {
		d.fix(file, stage(ds.Zero.Stage), "", offloaded(ds.Zero.Optimizer.Device), ds.Micro, ds.Steps)
	}
	var a accelerate
	if slices.Contains(d.command, "accelerate") {
		if file := d.readFile(dir, &a, []string{"config-file"}, ".yaml", ".yml", ".json"); file != "" {
			again := ""
			if a.FSDP.Again {
				again = "full"
			}
			sharding := stage(a.DeepSpeed.Stage)
			if sharding == "" {
				fsdp, _ := flagNamed("--fsdp", false, false)
				sharding = fsdp.Words[strings.ToLower(fmt.Sprint(a.FSDP.Strategy))]
			}
			offload := offloaded(a.DeepSpeed.Optimizer)
			if a.FSDP.Offload {
				offload = "cpu"
			}
			d.fix(file, sharding, again, offload, nil, a.DeepSpeed.Steps)
		}
	}
}

// readFile reads the file that one of the flags names into out; JSON is read as
// YAML. It returns the file's name, empty if there is none.
func (d *drafting) readFile(dir string, out any, flags []string, suffixes ...string) string {
	file := ""
	for i, a := range d.command {
		name, value, joined := strings.Cut(a, "=")
		if !slices.Contains(flags, strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-")) {
			continue
		}
		if !joined && i+1 < len(d.command) {
			value = d.command[i+1]
		}
		if slices.Contains(suffixes, filepath.Ext(value)) {
			file = value
		}
	}
	if file == "" {
		return ""
	}
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, out)
	}
	if err != nil {
		d.note("%s cannot be read (%v): put its layout into the space, such as sharding: [zero2]", file, err)
		return ""
	}
	return file
}

// fix adds the layout values of a file, except those that a flag sets.
func (d *drafting) fix(file, sharding, recompute, offload string, micro, steps any) {
	fixed := false
	add := func(knob, word string, value any) {
		v, number := value.(int)
		if _, told := d.named(knob); !told && (word != "" || number && v >= 1) {
			d.parts = append(d.parts, part{knob: knob, word: word, words: []string{word}, value: float64(v), arg: file, fixed: true})
			fixed = true
		}
	}
	add("sharding", sharding, nil)
	add("recompute", recompute, nil)
	add("offload", offload, nil)
	add("local_batch", "", micro)
	add("accum_steps", "", steps)
	if fixed {
		d.note("trials cannot change values in %s; to vary them, let the script read KNEE_LOCAL_BATCH, KNEE_ACCUM_STEPS and KNEE_SHARDING, or take flags", file)
	}
}

// offloaded is the study's word for where DeepSpeed keeps the optimizer.
func offloaded(device string) string {
	if device == "cpu" {
		return "optimizer"
	}
	return ""
}

// stage is the study's word for a stage of ZeRO.
func stage(v any) string {
	if n, ok := v.(int); ok && n >= 1 && n <= 3 {
		return fmt.Sprintf("zero%d", n)
	}
	return ""
}
