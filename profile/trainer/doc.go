// Package trainer is the built-in training workload: stochastic gradient
// descent on generated data, by real worker and parameter-server processes
// that talk TCP.
//
// It exists so that profiling, fitting and allocation can be tried, tested
// and demonstrated without a framework or a GPU, on numbers that were
// measured rather than made up. Nothing in it sleeps, unless an input rate is
// given: the step time is that
// of a multilayer perceptron's forward and backward pass plus that of moving
// its gradient, and the loss is the loss of a model that learns.
//
// One process is one rank. Ranks 0..k−1 are workers, ranks k..k+p−1 are
// parameter servers; a launcher starts each with the environment [FromEnv]
// reads. A single worker without servers needs no network.
//
//   - allreduce: the gradients are averaged by a ring all-reduce
//     (reduce-scatter, then all-gather; Patarasu and Yuan, "Bandwidth optimal
//     all-reduce algorithms for clusters of workstations", JPDC 2009) and
//     every worker applies the same update.
//   - ps-sync: the parameters are cut into p balanced slices. Each server
//     adds the gradients of its slice in the order of the ranks, applies the
//     update once all have arrived, and returns the new parameters.
//   - ps-async: each push is applied at once and answered with the newest
//     parameters of the slice; workers never wait for one another.
//
// Numbers are float64 in memory and on the wire. Training frameworks use
// narrower types, but here the precision buys a sharp check: the synchronous
// modes agree with a single process on the same global batch to rounding
// (1e-10 after dozens of steps), whatever the number of workers and servers,
// so an error in averaging, slicing or accumulation cannot hide.
//
// If a process dies the job ends: its neighbours find the connection closed and
// end too. Started again, with as many workers as one likes, an all-reduce job
// goes on from its checkpoint, if it writes one.
package trainer
