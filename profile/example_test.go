package profile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/c-bata/goptuna"
	"github.com/c-bata/goptuna/rdb.v2"
	"github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"knee/data"
	"knee/profile"
	"knee/profile/space"
)

// A study is measured from a recorded table, into a storage that could be
// shared; then a program that knows only goptuna reads its trials.
func Example_goptuna() {
	dir, err := os.MkdirTemp("", "knee")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	table := filepath.Join(dir, "table.csv")
	rows := "job,workers,local_batch,step_time_s,status\n" +
		"vision,1,64,0.50,ok\nvision,2,64,0.55,ok\nvision,4,64,0.70,ok\nvision,8,64,,oom\n"
	if err := os.WriteFile(table, []byte(rows), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	if err := measureExample(dir, table); err != nil {
		fmt.Println(err)
		return
	}

	// From here on only goptuna is used.
	db, err := gorm.Open(sqlite.Open(filepath.Join(dir, "shared.db")), &gorm.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	study, err := goptuna.LoadStudy("vision", goptuna.StudyOptionStorage(rdb.NewStorage(db)), goptuna.StudyOptionLogger(nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	trials, err := study.GetTrials()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range trials {
		fmt.Printf("%d %s: workers at position %v, %.0f samples/s (%s: %s)\n",
			t.Number, t.State, t.Params["workers"], t.Value, t.UserAttrs["status"], t.UserAttrs["config"])
	}
	best, err := study.GetBestValue()
	fmt.Printf("best of all: %.0f samples/s %v\n", best, err)
	if pool, err := db.DB(); err == nil {
		pool.Close()
	}
	// Output:
	// 0 Complete: workers at position 0, 128 samples/s (ok: 1 worker, allreduce, batch 64)
	// 1 Complete: workers at position 1, 233 samples/s (ok: 2 workers, allreduce, batch 64)
	// 2 Complete: workers at position 2, 366 samples/s (ok: 4 workers, allreduce, batch 64)
	// 3 Fail: workers at position 3, 0 samples/s (oom: 8 workers, allreduce, batch 64)
	// best of all: 366 samples/s <nil>
}

// measureExample runs the whole study of the example.
func measureExample(dir, table string) error {
	study := &data.Study{Job: "vision", Storage: "sqlite:shared.db", Source: data.Source{File: filepath.Join(dir, "study.yaml")},
		Space:    []data.Knob{{Name: "workers", Values: []string{"1", "2", "4", "8"}}, {Name: "local_batch", Values: []string{"64"}}},
		Trial:    data.TrialSettings{Warmup: -1, MinSteps: 20, MaxSeconds: 60, RelPrecision: .02},
		Launcher: data.LauncherSpec{Replay: &data.ReplaySpec{Table: table}}}
	candidates, err := space.Candidates(study)
	if err != nil {
		return err
	}
	r, err := profile.Open(context.Background(), study, profile.FilesBeside("study.yaml", dir), profile.Settings{Only: candidates})
	if err != nil {
		return err
	}
	if _, err := r.Run(context.Background()); err != nil {
		r.Storage.Close()
		return err
	}
	return r.Storage.Close()
}
