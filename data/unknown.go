package data

import (
	"fmt"
	"strings"
)

// UnknownError is a name, given by a user, of something that does not exist:
// a policy, an objective, a method. Commands exit with status 2 on it.
type UnknownError struct {
	What  string   // the kind of thing, such as "policy"
	Name  string   // what was requested
	Known []string // what there is
	Hint  string   // what else there is to say; may be empty
}

// Error implements error: `policy "best" is unknown; want one of even, fifo`.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s %q is unknown; want one of %s%s", e.What, e.Name, strings.Join(e.Known, ", "), e.Hint)
}
