// Package fit turns measurements of one training job into a model of its
// speed ([knee/fit/speed]), its convergence ([knee/fit/convergence]) and its
// statistical efficiency ([knee/fit/gradnoise]), kept in one file, model.json.
//
// Times are seconds, batches are samples, and everything is deterministic
// given the seed.
package fit
