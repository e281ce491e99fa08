// Package claim claims runs for this process. It also keeps this machine's files about the runs that this machine
// executes: their running commands, the logs of attempts that have not ended, and who is at work in which working copy.
package claim

import (
	"context"
	"sync"

	"github.com/git-smithers/git-smithers/internal/owner"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Request has the options of Take.
type Request struct {
	// Force takes the run over even from a live owner.
	Force bool
}

// Claim is this process's ownership of a run. A heartbeat in the background keeps the claim alive until the
// claim is released or lost. All methods except Release are safe for concurrent use.
type Claim struct {
	head    *timeline.Head
	Token   string // the owner in the run's row
	file    *owner.File
	beats   *heartbeat
	release sync.Once
}

// Take claims the run of h for this process. If a live process owns the run and req.Force is false, Take returns
// run_owned. Otherwise it appends an entry with the next epoch and a new owner to exactly the tip that h knows. If
// the run's tip has moved, Take appends nothing and returns conflict; another process may own the run now.
//
// An engine appends only on tips with its own epoch, so the earlier owner appends nothing after this entry. Take makes
// the claim's file before the entry, and after the note of where the run comes from, and removes the earlier owner's file after it. An error of the removal is a
// warning. Until Release, this process holds the lock of the claim's file, and touches the file six times within
// smithers.staleAfter.
func Take(ctx context.Context, h *timeline.Head, req Request) (*Claim, error) {
	s, before := h.Store(), h.Row()
	owner := s.Owner(before)
	if owner.Live && !req.Force {
		return nil, owner.Refusal(before)
	}
	if err := s.NoteBeforeClaim(h.Entry()); err != nil {
		return nil, err
	}
	folder, err := s.Executed().Folder(before.ID)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	file, err := folder.Claim(before.Epoch+1, s.Now(), s.Settings().Fsync)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	c := &Claim{head: h, Token: file.Token(), file: file}
	if err := h.Append(ctx, c.draft(before, owner)); err != nil {
		if closeErr := file.Undo(); closeErr != nil {
			s.Warn(closeErr)
		}
		return nil, err
	}
	// The old owner was allowed to write until the append, even if its process was dead. So its file is removed only now.
	if err := folder.Clear(before.Owner); err != nil {
		s.Warn(err)
	}
	c.beats = startHeartbeat(s.Settings().StaleAfter/beatsPerStale, func() error { return file.Touch(s.Now()) })
	return c, nil
}

// ToExecute claims a run as Take does, for a caller that executes its tasks. It returns run_owned also if a process in another clone may be
// executing the run, unless req.Force is true.
func ToExecute(ctx context.Context, h *timeline.Head, req Request) (*Claim, error) {
	if !req.Force {
		if err := h.RefuseElsewhere(); err != nil {
			return nil, err
		}
	}
	return Take(ctx, h, req)
}

// draft returns the draft of the entry that makes this claim the run's owner. The row before is the run's row before
// the claim, and the owner last is the owner that this row names.
func (c *Claim) draft(before snapshot.Run, last owner.Owner) snapshot.Draft {
	subject := "claimed"
	switch {
	case last.Live:
		subject = "taken over from a live process"
	case before.Owner != "":
		subject = "taken over from a process that is gone"
	}
	return snapshot.Draft{
		Subject:   subject,
		Operation: "claim:" + c.Token,
		Run:       func(row *snapshot.Run) { row.Epoch, row.Owner = before.Epoch+1, c.Token },
	}
}

// Lost returns a channel that is closed when a heartbeat finds that the claim's file is gone: another process in this
// repository took the run over. The channel is closed at most one heartbeat after the removal of the file. It is not
// closed if the run is taken over in another repository, or after Release.
func (c *Claim) Lost() <-chan struct{} { return c.beats.lost }

// Release gives up the claim, even if ctx ends meanwhile. It first ends the heartbeat. If the run's row still
// names this claim, Release then appends an entry that removes the owner and changes nothing else. If the append
// fails, Release unlocks and keeps the claim's file, and returns the error. Otherwise it removes the file. An
// error with the file is a warning. A second call does nothing and returns nil.
func (c *Claim) Release(ctx context.Context) error {
	var err error
	c.release.Do(func() { err = c.end(context.WithoutCancel(ctx)) })
	return err
}

// end does the work of the first Release. If the entry without the owner cannot be appended, end unlocks the claim's
// file and keeps it. If the run has ended and has no owner, end also removes the folder of the run's claims.
func (c *Claim) end(ctx context.Context) error {
	c.beats.end()
	s := c.head.Store()
	err := c.head.Update(ctx, func() (*snapshot.Draft, error) {
		if c.head.Row().Owner != c.Token {
			return nil, nil //nolint:nilnil // nothing is to be appended
		}
		return &snapshot.Draft{
			Subject:   "released",
			Operation: "release:" + c.Token,
			Run:       func(row *snapshot.Run) { row.Owner = "" },
		}, nil
	})
	giveUp := c.file.Discard
	if err != nil { // the row still names the claim, so the file stays like a dead process's file
		giveUp = c.file.Leave
	}
	if fileErr := giveUp(); fileErr != nil {
		s.Warn(fileErr)
	}
	if row := c.head.Row(); row.Owner == "" && row.Status.Ended() {
		if folder, folderErr := s.Executed().Folder(row.ID); folderErr == nil {
			folder.Remove()
		}
	}
	return err
}
