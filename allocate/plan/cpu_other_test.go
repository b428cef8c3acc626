//go:build !unix

package plan

// processorSeconds is 0: it is not known how to ask for it here.
func processorSeconds() float64 { return 0 }
