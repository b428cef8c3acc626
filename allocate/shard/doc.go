// Package shard divides the parameters of a model among parameter servers. Every tensor,
// or piece of one, is pushed and pulled in a separate request. A step ends when the
// slowest server is done, so a good division gives all servers equal numbers of elements
// and requests, and cuts few tensors.
package shard
