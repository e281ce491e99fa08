package engine

import (
	"fmt"
)

// endLeft ends leftover commands of a process that was killed or that lost the run, so that
// no task runs twice at once. If a process cannot be ended, the run continues: the process may
// stay for ever.
func (r *runner) endLeft() {
	if r.opts.Commands == nil {
		return
	}
	n, err := r.opts.Commands.EndLeft(r.opts.Hurry, r.opts.Grace)
	if n > 0 {
		r.opts.Warn(fmt.Errorf("another process left commands of this run running: %d processes were ended", n))
	}
	if err != nil {
		r.opts.Warn(fmt.Errorf("a command of another process of this run may still be running: %w", err))
	}
}
