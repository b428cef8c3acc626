package data

import (
	"fmt"
	"strings"
)

// UnknownError says that a name given by the user does not exist, such as that
// of a policy. Commands exit with status 2 on it.
type UnknownError struct {
	What  string   // the kind of thing, such as "policy"
	Name  string   // what was requested
	Known []string // the valid names
	Hint  string   // appended to the message; may be empty
}

// Error implements error: `policy "best" is unknown; want one of even, fifo`.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s %q is unknown%s; want one of %s%s", e.What, e.Name, didYouMean(e.Name, e.Known), strings.Join(e.Known, ", "), e.Hint)
}
