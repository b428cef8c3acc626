// Package hostlist expands and compresses lists of host names in the notation of
// Slurm: "a[01-04,07],b3" names a01, a02, a03, a04, a07 and b3.
//
// A name may hold several bracket groups, "rack[1-2]node[1-4]"; the last
// group varies fastest, as in scontrol show hostnames. The width of the lower
// end of a range sets the zero padding of its numbers. The order of names is
// kept, since a placement refers to nodes by position.
package hostlist
