// Package claim makes a run this process's own, and keeps what this machine knows of the runs that it executes: their
// commands at work, and the logs of attempts that have not ended.
package claim

import (
	"context"
	"sync"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/owner"
)

// Request says how to claim a run.
type Request struct {
	// Force takes the run over from a live owner too.
	Force bool
}

// Claim is this process's ownership of a run, kept alive in the background until it
// is released or lost. Safe for concurrent use, but for its Release.
type Claim struct {
	head    *timeline.Head
	Token   string
	file    *owner.File
	beats   *heartbeat
	release sync.Once
}

// Take claims the run of which h is the tip: it appends an entry with the next epoch and a new owner, on
// exactly the tip that h has read, and adopts it. A run whose owner is not live is taken over.
//
// Codes: run_owned if a live process owns the run and req.Force is false; conflict if the tip has moved:
// nothing is written, and another process may own the run.
//
// The entry fences: an engine appends only on tips with its own epoch. The claim's file exists before the
// entry does, locked by this process, and is touched six times in the time of the setting smithers.staleAfter.
func Take(ctx context.Context, h *timeline.Head, req Request) (*Claim, error) {
	s, before := h.Store(), h.Row()
	owner := s.Owner(before)
	if owner.Live && !req.Force {
		return nil, owner.Refusal(before)
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
	// Nobody but the owner of before had the right to write until now, dead or not.
	if err := folder.Clear(before.Owner); err != nil {
		s.Warn(err)
	}
	c.beats = startHeartbeat(s.Settings().StaleAfter/beatsPerStale, func() error { return file.Touch(s.Now()) })
	return c, nil
}

// draft is the entry that makes the run this claim's.
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

// Lost is closed when another process has taken the run over, at the latest one beat
// after that.
func (c *Claim) Lost() <-chan struct{} { return c.beats.lost }

// Release gives the run back: where its row still names this claim, it appends an
// entry that names no owner and changes nothing else; the run is then as it was. The
// claim's file is removed. It returns when no background work is left, and is not cut
// short by the end of ctx. Calling it again does nothing.
func (c *Claim) Release(ctx context.Context) error {
	var err error
	c.release.Do(func() { err = c.end(context.WithoutCancel(ctx)) })
	return err
}

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
	if err != nil { // the row still names it: it stays, as a dead process's that was executed here
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
