// Package shard divides the parameters of a model among parameter servers.
//
// Every tensor, or piece of a tensor, is pushed and pulled in a separate request. A
// step ends when the slowest server is done, so a good division gives all servers
// equal numbers of elements and requests, and cuts few tensors. [PAA] is the
// assignment of Optimus
// (Peng et al., EuroSys 2018, section 5.3); [MXNet] and [RoundRobin] are what
// frameworks do by default.
package shard
