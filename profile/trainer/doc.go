// Package trainer is the built-in training workload: stochastic gradient descent on generated
// data, by real worker and parameter-server processes over TCP.
//
// With it, profiling, fitting and allocation can be tried and tested on measured numbers
// without a framework or a GPU. Nothing in it sleeps unless an input rate is given: the step
// time is that of a multilayer perceptron's forward and backward pass and of communicating its
// gradient, and the loss is that of real training.
//
// One process is one rank. Ranks 0..k−1 are workers, ranks k..k+p−1 are parameter servers; a
// launcher starts each with the environment that [FromEnv] reads. A single worker without
// servers needs no network.
//
//   - allreduce: the gradients are averaged by a ring all-reduce (reduce-scatter, then
//     all-gather; Patarasu and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
//     workstations", JPDC 2009) and every worker applies the same update.
//   - ps-sync: the parameters are cut into p balanced slices. Each server adds the gradients of
//     its slice in the order of the ranks, applies the update once all have arrived, and
//     returns the new parameters.
//   - ps-async: each push is applied at once and answered with the newest parameters of the
//     slice; workers never wait for one another.
//
// Numbers are float64 in memory and on the wire, which allows a strict check: the synchronous
// modes agree with a single process on the same global batch to rounding (1e-10 after dozens of
// steps) for any number of workers and servers.
//
// If a process dies the job ends, as its connections close. Started again with any number of
// workers, an all-reduce job with a checkpoint continues from it.
package trainer
