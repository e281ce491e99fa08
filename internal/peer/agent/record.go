// Package agent records the sessions of coding agents as runs. The hooks of an agent hand in events, and the agent's
// own file has the conversation.
//
// A session is a run named <agent>-<session id>. Each prompt of the user begins a turn: the next iteration of the node
// "turn". Each batch of tool calls that may have changed files is a frame with these files.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// mostTries is the number of times that a hook tries to append while other processes append to the same session.
const mostTries = 20

// mostRefs is the number of frames after which the refs of a session's older frames are removed. Everybody's git log --all and
// fetches cost more with each ref, and the frames are found without.
const mostRefs = 64

// Run returns the id of the run that has a session of an agent.
func Run(agent, session string) string { return agent + "-" + session }

// Record appends a frame for the event to the session's run, and reports whether it did. The first event creates the
// run. An event that cannot have changed anything makes no frame: see the kinds of events, and a batch of tools that only
// read. Its lines of the transcript come with the next frame. Two processes may record events of one session at once.
func Record(ctx context.Context, s *timeline.Store, speaks *dialect.Dialect, ev dialect.Event) (recorded bool, err error) {
	if ev.Kind == dialect.Ignored || ev.Kind == dialect.Called && !ev.ChangesFiles() {
		return false, nil
	}
	r := recorder{store: s, speaks: speaks, agent: cmp.Or(ev.Agent, speaks.Name), ev: ev}
	defer r.visit()()
	defer func() {
		if r.files != nil {
			err = errors.Join(err, r.files.Close())
		}
	}()
	for try := 1; ; try++ {
		more, err := r.try(ctx)
		recorded = recorded || more
		switch {
		case err == nil && more && ev.Kind == dialect.Ended && r.behind: // no later hook reads the rest
			r.more, try = true, 0
		case fault.CodeOf(err) != fault.Conflict && fault.CodeOf(err) != fault.RunExists || try == mostTries:
			return recorded, err
		default:
			if err := timeline.Pause(ctx, try); err != nil {
				return false, timeline.Explain(err)
			}
		}
	}
}

// visit notes that the session is at work in the working copy from the beginning of a turn on. The function that it returns
// notes the end of the turn.
func (r *recorder) visit() func() {
	place, run := claim.PresenceAt(r.store, r.store.Workspace().Root), Run(r.agent, r.ev.Session)
	switch r.ev.Kind {
	case dialect.Prompted, dialect.Calling, dialect.Called, dialect.Delegated, dialect.Compacting:
		place.Enter(claim.PresenceNote{Run: run, Session: true, Variable: r.speaks.Variable}, "")
	case dialect.Answered, dialect.Ended, dialect.Started:
		return func() { place.Leave(run) }
	case dialect.Ignored, dialect.Labelled:
	}
	return func() {}
}

// recorder records one event. It captures the files once, however often it tries to append them.
type recorder struct {
	store    *timeline.Store
	speaks   *dialect.Dialect
	agent    string // the agent's name
	ev       dialect.Event
	files    *jjbridge.CapturedFiles
	captured bool
	behind   bool // the newest frame has lines of the transcripts, and not the last ones
	more     bool // the event was recorded, and lines were left
}

// try records the event on the run's newest entry. The error is conflict or run_exists if another process was faster.
func (r *recorder) try(ctx context.Context) (bool, error) {
	id := Run(r.agent, r.ev.Session)
	head, err := r.store.Head(ctx, id)
	if fault.CodeOf(err) == fault.RunNotFound {
		head, err = nil, nil
	}
	if err != nil {
		return false, err
	}
	if head == nil && (r.ev.Kind == dialect.Started || r.ev.Kind == dialect.Calling || r.ev.Kind == dialect.Ended) {
		return false, nil // a session begins with its first prompt
	}
	if head, err = r.beginFork(ctx, head); err != nil {
		return false, err
	}
	mem := newMemory(r.agent, r.ev.Session)
	if head != nil {
		if mem, err = memoryOf(head.Entry()); err != nil {
			return false, err
		}
		if mem.Agent != r.agent { // "a-b" with the session "c", and "a" with the session "b-c"
			return false, fmt.Errorf("run %q is a session of %q", id, mem.Agent)
		}
		if mem.session() != r.ev.Session { // what-if was killed before it could note the new id
			mem.enter(r.ev.Session, 0)
		}
	}
	if r.ev.Kind != dialect.Started {
		if err := r.capture(ctx); err != nil {
			return false, err
		}
	}
	d := drafter{
		head: head, mem: mem, transcript: r.store.Settings().Session.Transcript, speaks: r.speaks, ev: r.ev,
		atMs: r.store.Now().UnixMilli(), warn: r.store.Warn, store: r.store, more: r.more,
	}
	if r.files != nil {
		d.files = &r.files.VCS
	}
	draft, err := d.draft()
	if err != nil {
		return false, err
	}
	r.behind = d.read > 0 && mem.isBehind()
	if r.files != nil {
		draft.VCS, draft.Objects = &r.files.VCS, r.files.Objects
	}
	if head == nil {
		row := snapshot.Run{ID: id, Workflow: r.agent, Status: snapshot.RunRunning, CreatedAtMs: draft.AtMs, StartedAtMs: &draft.AtMs}
		_, err = r.store.Create(ctx, row, draft)
		return err == nil, err
	}
	if unchanged, err := r.isUnchanged(head, &d); err != nil || unchanged {
		return false, err
	}
	if err = head.Append(ctx, draft); err != nil {
		return false, err
	}
	if head.Row().Frame%mostRefs == mostRefs-1 {
		if err := r.store.FrameRefs().DropOlder(ctx, head.Entry(), 1); err != nil {
			r.store.Warn(fmt.Errorf("the refs of older frames were not removed: %w", err))
		}
	}
	return true, nil
}

// capture captures the files of the working copy in which the agent works, the first time that it is called. If the files
// are unreadable, capture warns: the frame then has the conversation without new files.
func (r *recorder) capture(ctx context.Context) (err error) {
	if r.captured {
		return nil
	}
	r.captured = true
	if r.files, err = files.WorkingCopyOf(r.store).OfSession().For(Run(r.agent, r.ev.Session), "").Capture(ctx); err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return timeline.Explain(err)
	}
	r.store.Warn(fmt.Errorf("the files of the working copy were not captured: %w", err))
	return nil
}

// isUnchanged reports whether the event needs no frame: neither the event, nor the conversation, nor the files have
// changed anything since the newest entry.
func (r *recorder) isUnchanged(head *timeline.Head, d *drafter) (bool, error) {
	if d.changed && r.ev.Kind != dialect.Calling { // the lines of the conversation come with the frame of the call
		return false, nil
	}
	if r.files == nil {
		return true, nil
	}
	before, err := head.Entry().VCSRevision()
	if err != nil {
		return false, timeline.Explain(err)
	}
	return before != nil && before.Tree == r.files.VCS.Tree && before.CommitID == r.files.VCS.CommitID, nil
}
