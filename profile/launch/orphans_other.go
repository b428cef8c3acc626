//go:build !linux

package launch

// killOrphans does nothing where there is no /proc to find them in: a trial's
// processes that left its process group are on their own.
func killOrphans(string) {}
