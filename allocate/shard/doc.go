// Package shard divides the parameters of a model among parameter servers.
//
// Every tensor, or every piece of one, is pushed and pulled in a request of
// its own. A step ends when the slowest server is done, so that a good
// division gives all servers the same number of elements and of requests,
// and cuts as few tensors as it can. [PAA] is the assignment of Optimus
// (Peng et al., EuroSys 2018, section 5.3); [MXNet] and [RoundRobin] are what
// frameworks do by default.
package shard
