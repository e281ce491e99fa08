package engine

import (
	"context"
	"fmt"
	"os"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// openCalls makes the file in which the attempt's command reports its tool calls. If it cannot be made, the command has none, and
// apply warns. The caller is the runner's goroutine.
func (j *job) openCalls(a snapshot.Attempt) {
	if j.opts.Logs == nil {
		return
	}
	path, err := j.opts.Logs.Calls(keyOf(a))
	if err == nil {
		j.calls, err = newCallReport(path, a, j.opts.Now)
	}
	if j.uncalled = err; err == nil {
		j.callFile = path
	}
}

// commitCalls appends the tool calls that running commands have reported since the last time, as an entry that is no frame. So they
// are kept if this process dies, and others see them while the commands run.
func (r *runner) commitCalls(ctx context.Context) error {
	var changes []snapshot.Change
	for _, a := range r.running {
		changes = append(changes, a.job.calls.take()...)
	}
	if len(changes) == 0 || r.tip.isLost() {
		return nil
	}
	at := r.opts.Now().UnixMilli()
	r.tip.appends++
	err := r.tip.update(context.WithoutCancel(ctx), r.checkTip, func() (snapshot.Draft, error) {
		return snapshot.Draft{Journal: changes, Subject: "tool calls", AtMs: at, Operation: r.tip.operation()}, nil
	})
	if err == nil {
		r.tip.accept()
	}
	return err
}

// leftCalls returns the changes of the journal for the tool calls that the command of a killed process reported and that the journal
// does not have, or has as calls under way.
func (r *runner) leftCalls(a snapshot.Attempt) ([]snapshot.Change, error) {
	if r.opts.Logs == nil {
		return nil, nil
	}
	report, err := newCallReport(r.opts.Logs.LeftCalls(keyOf(a)), a, r.opts.Now)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		r.opts.Warn(fmt.Errorf("task %s: tool calls are missing: %w", a.NodeID, err))
		return nil, nil
	}
	if err := report.finish(); err != nil {
		return nil, err
	}
	rows, err := r.rec.Entry().ToolCalls()
	if err != nil {
		return nil, err
	}
	var changes []snapshot.Change
	for _, change := range report.take() {
		value, found, err := rows.Get(change.Key)
		if err != nil {
			return nil, err
		}
		if found {
			had, err := snapshot.DecodeToolCall(page.Row{Key: change.Key, Value: value})
			if err != nil || had.Status != snapshot.ToolCallIntended {
				continue // it is there as it was reported
			}
		}
		changes = append(changes, change)
	}
	return changes, nil
}
