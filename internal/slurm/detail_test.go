package slurm

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The same job as Slurm 22.05 and as Slurm 23.11 tell of it.
const (
	old = `{"jobs":[{"job_id":7,"job_state":"RUNNING","state_reason":"None","name":"toy","user_name":"ann","comment":"mine","array_job_id":0,
		"batch_flag":true,"requeue":true,"priority":12,"restart_cnt":1,"submit_time":1795331125,"start_time":1795331130,"nodes":"n[1-2]",
		"gres_detail":["gpu:a100:2(IDX:0-1)","gpu:a100:2(IDX:0-1)"],"node_count":2,"tasks":4,"cpus_per_task":null,"tasks_per_node":2,
		"tres_per_node":"gres:gpu:a100:2","partition":"main","current_working_directory":"/w"}]}`
	young = `{"jobs":[{"job_id":7,"job_state":["RUNNING"],"state_reason":"None","name":"toy","user_name":"ann","comment":"mine",
		"array_job_id":{"set":true,"infinite":false,"number":0},"batch_flag":true,"requeue":true,"priority":{"set":true,"infinite":false,"number":12},
		"restart_cnt":1,"submit_time":{"set":true,"infinite":false,"number":1795331125},"start_time":{"set":true,"infinite":false,"number":1795331130},
		"nodes":"n[1-2]","gres_detail":["gpu:a100:2(IDX:0-1)","gpu:a100:2(IDX:0-1)"],"node_count":{"set":true,"infinite":false,"number":2},
		"tasks":{"set":true,"infinite":false,"number":4},"cpus_per_task":{"set":false,"infinite":false,"number":0},
		"tasks_per_node":{"set":true,"infinite":false,"number":2},"tres_per_node":"gres:gpu:a100:2","partition":"main","current_working_directory":"/w"}]}`
)

func TestDetailsOfEveryVersion(t *testing.T) {
	want := Detail{Job: Job{ID: "7", State: "RUNNING", Reason: "None"}, Name: "toy", User: "ann", Comment: "mine", Partition: "main", Batch: true,
		Requeue: true, Priority: 12, Restarts: 1, Submit: time.Unix(1795331125, 0).UTC(), Start: time.Unix(1795331130, 0).UTC(), Nodes: "n[1-2]",
		GRES: []string{"gpu:a100:2(IDX:0-1)", "gpu:a100:2(IDX:0-1)"}, NodeCount: 2, Tasks: 4, TasksPerNode: 2, TRESPerNode: "gres:gpu:a100:2", WorkDir: "/w"}
	for _, text := range []string{old, young} {
		got, err := ParseDetails([]byte(text))
		if err != nil || len(got) != 1 {
			t.Fatalf("%v, %v", got, err)
		}
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if got, err := ParseDetails([]byte(`{"jobs":[]}`)); err != nil || len(got) != 0 {
		t.Errorf("an empty queue: %v, %v", got, err)
	}
}

func TestDetailsThatAreNone(t *testing.T) {
	for _, text := range []string{"", "{}", `{"errors":["down"]}`, old[:len(old)-20], `{"jobs":[{"job_id":7}]}`, `{"jobs":[{"job_state":"RUNNING"}]}`,
		`{"jobs":[{"job_id":7,"job_state":[]}]}`, "slurm_load_jobs error: Unable to contact slurm controller"} {
		if got, err := ParseDetails([]byte(text)); err == nil {
			t.Errorf("%.60q was read as %v", text, got)
		}
	}
}

func TestParseReservations(t *testing.T) {
	const out = "ReservationName=root_1 StartTime=2026-11-22T08:08:24 EndTime=2026-11-22T10:08:24 Duration=02:00:00 Nodes=n[5-6] NodeCnt=2 Flags=MAINT State=INACTIVE\n\n"
	got, err := parseReservations(out, time.UTC)
	want := []Reservation{{"root_1", time.Date(2026, 11, 22, 8, 8, 24, 0, time.UTC), time.Date(2026, 11, 22, 10, 8, 24, 0, time.UTC), "n[5-6]"}}
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if got, err := parseReservations("No reservations in the system\n", time.UTC); err != nil || got != nil {
		t.Errorf("none: %v, %v", got, err)
	}
	if _, err := parseReservations("ReservationName=a StartTime=soon\n", time.UTC); err == nil {
		t.Error("a time that is none was read")
	}
}
