package engine

import (
	"fmt"
)

// endLeft ends leftover commands of a process that was killed or that lost the run, so that
// no task runs twice at once. If a process cannot be ended, the run continues: the process may
// stay for ever.
func (o *Options) endLeft() {
	if o.Commands == nil {
		return
	}
	n, err := o.Commands.EndLeft(o.Hurry, o.Grace)
	if n > 0 {
		o.Warn(fmt.Errorf("another process left commands of this run running: %d processes were ended", n))
	}
	if err != nil {
		o.Warn(fmt.Errorf("a command of another process of this run may still be running: %w", err))
	}
}
