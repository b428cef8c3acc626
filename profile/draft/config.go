package draft

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
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

// readConfig adds the layout in the command's DeepSpeed file, which is fixed.
func (d *drafting) readConfig(dir string) {
	var ds deepspeed
	file := d.readFile(dir, &ds, "deepspeed", "deepspeed-config", "deepspeed-config-file")
	if file == "" {
		return
	}
	fixed := false
	add := func(knob, word string, value any) {
		v, number := value.(int)
		if _, told := d.named(knob); !told && (word != "" || number && v >= 1) {
			d.parts = append(d.parts, part{knob: knob, word: word, words: []string{word}, value: float64(v), arg: file, fixed: true})
			fixed = true
		}
	}
	if n, ok := ds.Zero.Stage.(int); ok && n >= 1 && n <= 3 {
		add("sharding", fmt.Sprintf("zero%d", n), nil)
	}
	if ds.Zero.Optimizer.Device == "cpu" {
		add("offload", "optimizer", nil)
	}
	add("local_batch", "", ds.Micro)
	add("accum_steps", "", ds.Steps)
	if fixed {
		d.note("trials cannot change values in %s; to vary them, let the script read KNEE_LOCAL_BATCH, KNEE_ACCUM_STEPS and KNEE_SHARDING, or take flags", file)
	}
}

// readFile reads the JSON file that one of the flags names into out. It returns
// the file's name, empty if there is none.
func (d *drafting) readFile(dir string, out any, flags ...string) string {
	file := ""
	for i, a := range d.command {
		name, value, joined := strings.Cut(a, "=")
		if !slices.Contains(flags, strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-")) {
			continue
		}
		if !joined && i+1 < len(d.command) {
			value = d.command[i+1]
		}
		if filepath.Ext(value) == ".json" {
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
