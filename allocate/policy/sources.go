package policy

// Source says what a policy is and how close to it this one comes.
type Source struct {
	Name       string
	Round      float64 // seconds between decisions as published; 0 decides at every event
	Published  string  // where, and which sections
	Simplified string  // what is left out or done otherwise; empty for a faithful one
}

// Sources lists the policies in the order in which a reader would look for
// them.
func Sources() []Source {
	return []Source{
		{Default, 0, "this project; steps of Optimus, EuroSys 2018, section 4.1", ""},
		{"knee", 0, "this project; weights as in heSRPT, Performance Evaluation 2020", ""},
		{"even", 0, "what people do by hand", ""},
		{"optimus", 0, "Optimus, EuroSys 2018, section 4.1", ""},
		{"optimus-greedy", 0, "Optimus, EuroSys 2018, section 4.1, on the objective of the plan", ""},
		{"pollux", 60, "Pollux, OSDI 2021, section 4.2", "its objective solved as a knapsack instead of searched genetically; under the rules of Pollux, the search itself"},
		{"sia", 60, "Sia, SOSP 2023, section 3", "values are not rounded to two decimals"},
		{"gavel-maxmin", gavelRound, "Gavel, OSDI 2020, sections 4.1, 4.3 and 5", "no space sharing; programs solved every round"},
		{"gavel-ftf", gavelRound, "Gavel, OSDI 2020, sections 4.2 and 5", "as above"},
		{"gavel-makespan", gavelRound, "Gavel, OSDI 2020, sections 4.2 and 5", "as above"},
		{"themis", 0, "Themis, NSDI 2020, sections 3 to 5", "a job is an app and bids truthfully, so no hidden payment; leftovers by ρ, not by lot"},
		{"gandiva", sliceRound, "Gandiva, OSDI 2018, sections 3.1 to 3.4", "no packing of two jobs on a GPU; a slice is a minute per second of restart"},
		{"gandiva-fair", sliceRound, "Gandiva-fair, EuroSys 2020, section 3", "one scheduler for the whole cluster, no migration to balance servers"},
		{"tiresias-las", 0, "Tiresias, NSDI 2019, section 3", "all jobs are consolidated; under the rules of Tiresias, its simulator job by job"},
		{"tiresias-gittins", 0, "Tiresias, NSDI 2019, section 3", "as above; the index takes the jobs that are present as the distribution"},
		{"e-las", 0, "E-LAS, ICPP 2020", "no switching of sizes by profit"},
		{"astraea", 0, "Astraea, TPDS 2022, section 4", "leases as long as those of Themis; the placement of the replay"},
		{"allox", 0, "AlloX, EuroSys 2020, section 4", "a machine is a group of GPUs as large as the mean gang; the 120 oldest jobs take part"},
		{"oasis", oasisSlot, "OASiS, INFOCOM 2018, sections 3 and 4", "workers and servers are one resource; slots of 300 s; who is turned away asks again"},
		{"drf", 0, "DRF, NSDI 2011, section 4.1", "tasks are gangs, dealt anew at every decision"},
		{"tetris", 0, "Tetris, SIGCOMM 2014, sections 3.2 and 3.3", "alignment with the cluster as a whole, not with single machines"},
		{"fifo", 0, "by name", ""},
		{"fifo-backfill", 0, "by name", ""},
		{"sjf", 0, "by name", ""},
		{"srtf", 0, "by name", ""},
	}
}

// Round is the seconds between decisions of the policy of a name.
func Round(name string) float64 {
	for _, s := range Sources() {
		if s.Name == name {
			return s.Round
		}
	}
	return 0
}
