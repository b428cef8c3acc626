package trainer

import (
	"errors"
	"flag"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"knee/data"
)

func TestFromEnv(t *testing.T) {
	env := map[string]string{
		"KNEE_ROLE": "ps", "RANK": "5", "WORLD_SIZE": "6", "LOCAL_RANK": "1", "MASTER_ADDR": "h", "MASTER_PORT": "29500",
		"KNEE_WORKERS": "4", "KNEE_PS": "2", "KNEE_PS_HOSTS": "a:1, b:2", "KNEE_PS_RANK": "1", "KNEE_MODE": "ps-async",
		"KNEE_LOCAL_BATCH": "10.5", "KNEE_ACCUM_STEPS": "1", "KNEE_INITIAL_BATCH": "64",
	}
	o, err := FromEnv(func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	fs := flag.NewFlagSet("train", flag.ContinueOnError)
	o.Bind(fs)
	if err := fs.Parse([]string{"--steps=3", "--model=large", "--message-bytes=3M"}); err != nil {
		t.Fatal(err)
	}
	if err := o.validate(); err != nil {
		t.Error(err)
	}
	if o.Role != Server || o.Rank != 5 || o.PSRank != 1 || o.Workers != 4 || o.PS != 2 || o.Mode != data.PSAsync || o.LocalBatch != 10.5 ||
		o.AccumSteps != 1 || o.InitialBatch != 64 || o.MasterAddr != "h" || o.MasterPort != 29500 ||
		!slices.Equal(o.PSHosts, []string{"a:1", "b:2"}) || o.Steps != 3 || o.Model != "large" || o.MessageBytes != 3_000_000 {
		t.Errorf("options %+v", o)
	}
	if got := o.globalBatch(); got != 84 { // 4 workers × 10.5 samples × 2 micro-steps
		t.Errorf("global batch %d, want 84", got)
	}
}

func TestFromEnvNamesTheVariable(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"RANK", "one", `environment:RANK: found "one", want a whole number ≥ 0`},
		{"KNEE_WORKERS", "-1", `environment:KNEE_WORKERS: found "-1", want a whole number ≥ 0`},
		{"KNEE_LOCAL_BATCH", "NaN", `environment:KNEE_LOCAL_BATCH: found "NaN", want a number of samples > 0`},
		{"WORLD_SIZE", "3", `environment:WORLD_SIZE: found "3", want 2, the sum of KNEE_WORKERS = 2 and KNEE_PS = 0`},
	} {
		env := map[string]string{"KNEE_WORKERS": "2", tt.name: tt.value}
		_, err := FromEnv(func(k string) string { return env[k] })
		var in *data.InputError
		if !errors.As(err, &in) || err.Error() != tt.want {
			t.Errorf("%s=%s: %v, want %s", tt.name, tt.value, err, tt.want)
		}
	}
	o, err := FromEnv(func(k string) string { return map[string]string{"RANK": "1", "WORLD_SIZE": "3"}[k] })
	if err != nil || o.Workers != 3 || o.Rank != 1 {
		t.Errorf("as under torchrun: %+v, %v", o, err)
	}
}

func TestValidateNamesTheOption(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"model":            func(o *Options) { o.Model = "huge" },
		"at least 1, bec":  func(o *Options) { o.Mode = data.PSSync },
		"0, because mode":  func(o *Options) { o.PS = 1 },
		"KNEE_PS_HOSTS":    func(o *Options) { o.Mode, o.PS, o.PSHosts, o.MasterPort = data.PSSync, 1, []string{"nowhere"}, 1 },
		"MASTER_PORT":      func(o *Options) { o.Workers = 2 },
		"rank (RANK)":      func(o *Options) { o.Rank = 1 },
		"one sample":       func(o *Options) { o.Workers, o.LocalBatch, o.MasterPort = 4, 0.5, 1 },
		"local-batch":      func(o *Options) { o.LocalBatch = math.NaN() },
		"message-bytes":    func(o *Options) { o.MessageBytes = math.MaxInt64 },
		"role (KNEE_ROLE)": func(o *Options) { o.Role = "boss" },
		"gossip":           func(o *Options) { o.Mode = "gossip" },
	} {
		var o Options
		change(&o)
		if err := Run(t.Context(), o, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}
