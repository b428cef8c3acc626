package launch_test

import (
	"context"
	"fmt"

	"knee/data"
	"knee/profile/launch"
)

// Wrapped runs every trial inside another program: a container, numactl, ssh.
type Wrapped struct {
	launch.Launcher
	Prefix []string // such as docker run --rm --gpus all IMAGE
}

// Launch implements [launch.Launcher].
func (w Wrapped) Launch(ctx context.Context, t launch.Trial, obs chan<- launch.Observation) error {
	t.Command = append(append([]string{}, w.Prefix...), t.Command...)
	return w.Launcher.Launch(ctx, t, obs)
}

func Example_ownLauncher() {
	parser, err := launch.NewParser(data.Metrics{JSONL: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := Wrapped{Launcher: &launch.Local{Parser: parser}, Prefix: []string{"env", "STEP=0.25"}}
	obs := make(chan launch.Observation, 1)
	err = w.Launch(context.Background(), launch.Trial{
		Config:  data.Config{Workers: 1},
		Command: []string{"sh", "-c", `echo "knee: {\"step\":1,\"step_time_s\":$STEP}"`},
	}, obs)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println((<-obs).StepTime, "s per step")
	// Output: 0.25 s per step
}
