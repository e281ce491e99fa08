package engine

import (
	"fmt"
)

// endLeft ends the commands that an earlier process of the run left running, so that no task runs twice at once. It
// warns about ended processes and about errors. An error does not stop the run, because a process that cannot be
// ended may run forever. Without Options.Commands, endLeft does nothing.
func (o *Options) endLeft() {
	if o.Commands == nil {
		return
	}
	n, err := o.Commands.EndLeft(o.Hurry, o.Grace)
	if n > 0 {
		o.Warn(fmt.Errorf("another process left commands of this run running: %d processes were ended", n))
	}
	if err != nil {
		o.Warn(fmt.Errorf("a command that another process of this run started may still be running: %w", err))
	}
}
