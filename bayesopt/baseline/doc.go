// Package baseline holds the search methods that the guided strategy of
// package bayesopt is compared with, and the registry of all by name.
//
// They share one skeleton: the problem is read as the guided strategy reads it
// (the same candidates, features and response), a method picks one of the
// candidates that are left, ties by seed, and the search ends when none is.
package baseline
