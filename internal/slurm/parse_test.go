package slurm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseQueue(t *testing.T) {
	got, err := parseQueue("12|PENDING|Resources\n13|RUNNING|None\n14|CANCELLED|a reason | with a bar\n\n")
	want := map[string]Job{"12": {"12", "PENDING", "Resources"}, "13": {"13", "RUNNING", "None"}, "14": {"14", "CANCELLED", "a reason | with a bar"}}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, text := range []string{"12", "12|RUNNING", "x|RUNNING|None", "12||None"} {
		if _, err := parseQueue(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestParseShownJob(t *testing.T) {
	for text, want := range map[string]End{
		"JobId=1 JobName=x JobState=FAILED Reason=NonZeroExitCode Restarts=0 ExitCode=3:0 DerivedExitCode=0:0": {"FAILED", 3},
		"JobId=1 JobState=OUT_OF_MEMORY ExitCode=0:125":                                                        {"OUT_OF_MEMORY", 253},
		"JobId=1 JobState=CANCELLED ExitCode=0:15":                                                             {"CANCELLED", 143},
	} {
		if got, err := parseShownJob(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "JobId=1", "JobState=FAILED ExitCode=x"} {
		if got, err := parseShownJob(text); err == nil {
			t.Errorf("%q was read as %+v", text, got)
		}
	}
	if got, err := newEnd("CANCELLED by 1000", "0:9"); err != nil || got != (End{"CANCELLED", 137}) {
		t.Errorf("%+v, %v", got, err)
	}
}
