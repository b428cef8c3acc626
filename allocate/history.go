package allocate

// History is what accounting knows of a job beyond its present state. A
// scheduler that keeps no accounts leaves it zero; policies that need it say
// so.
type History struct {
	Tenant   string             // who the job belongs to; empty means its own
	Restart  float64            // seconds without progress that a change of allocation costs
	Restarts int                // changes of allocation so far
	Progress float64            // share of the declared work that is done, 0 to 1
	Ran      float64            // seconds it has held workers
	ByType   map[string]float64 // GPU-seconds by GPU type
}
