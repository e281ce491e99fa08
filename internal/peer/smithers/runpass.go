package smithers

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// runPass imports one run: it appends the new rows of the database to the run in the repository.
type runPass struct {
	*dbrun.Run
	*keptRun
	*runLine

	im        *importJob
	series    *timeline.Series
	made      []objstore.ID // the entries of this pass
	box       mailbox
	live      bool                       // the pass imports only new frames
	parent    *snapshot.Parent           // the parent of a new run; nil if the run is not new or not a fork of a known frame
	overtakes takeBack                   // the ops that the next frame takes back
	overtaken []OvertakenOp              // the ops of overtakes that the result reports
	kept      map[string][]dbrow.KeptRow // the database's rows by table; nil in a live pass
	found     string                     // the digest of the database's rows; "" in a live pass
	out       ImportedRun
}

// importRun imports one run and returns the result. from has the run's row. All new entries of the run become
// visible at once. If a watch wants the new frames of the run soon, importRun first appends these frames, and imports
// all rows only if that is not possible.
//
// A running run that the repository does not have stays unimported until it has a snapshot, because the first
// snapshot has the run's input.
func (im *importJob) importRun(ctx context.Context, tx *source.Tx, from dbrun.RunRow) (ImportedRun, error) {
	r := im.runPass(tx, from)
	if upTo, live := im.upTo[from.ID]; live {
		if err := r.ReadForFrames(); err != nil {
			return r.out, err
		}
		if done, err := r.appendFrames(ctx, upTo); done || err != nil {
			return r.out, err
		}
		r = im.runPass(tx, from)
	}
	if err := r.Read(); err != nil {
		return r.out, err
	}
	if known, err := r.open(ctx); known || err != nil {
		return r.out, err
	}
	if r.head == nil && len(r.Heads) == 0 && r.Ours.Status == snapshot.RunRunning {
		return r.out, nil // the first snapshot will have the run's input
	}
	first, err := r.begin(ctx)
	if err != nil {
		return r.out, err
	}
	defer r.series.Close()
	before := r.entry
	for i := first; i < len(r.Heads); i++ {
		if err := r.appendFrame(ctx, i); err != nil {
			return r.out, fmt.Errorf("frame %d: %w", r.Heads[i].Frame, err)
		}
		if im.req.Progress != nil {
			im.req.Progress(r.ID, i-first+1, len(r.Heads)-first)
		}
	}
	if err := r.appendTail(ctx); err != nil {
		return r.out, err
	}
	if err := r.appendExt(ctx, r.entry != before); err != nil {
		return r.out, err
	}
	return r.commit(ctx, before)
}

// runPass returns a pass that imports one run of the database. from has the run's row. The pass has read nothing
// yet, and its outcome is OutcomeUnchanged.
func (im *importJob) runPass(tx *source.Tx, from dbrun.RunRow) *runPass {
	theirs := &dbrun.Run{RunRow: from, Tx: tx, Own: im.own, Left: im.left, All: im.copies}
	return &runPass{im: im, Run: theirs, keptRun: &keptRun{}, runLine: &runLine{}, out: ImportedRun{RunID: from.ID, Outcome: OutcomeUnchanged}}
}

// commit makes the new entries visible and returns the result of the pass. before is the newest entry before the pass:
// if it is still the newest entry, the outcome stays unchanged. The error is source.ErrOvertaken if the rows may be
// from two states of the database. If another process created the run, the error is the result of errOvertaken. commit
// also keeps the run in the memory of a watch: see memory.keep.
func (r *runPass) commit(ctx context.Context, before *snapshot.Entry) (ImportedRun, error) {
	if err := r.Tx.Check(); err != nil {
		return r.out, err
	}
	head, err := r.series.Commit(ctx)
	if r.head == nil && fault.CodeOf(err) == fault.RunExists {
		return r.out, errOvertaken(r.ID)
	}
	if err != nil {
		return r.out, err
	}
	r.im.made = append(r.im.made, r.made...)
	if len(r.Heads) == 0 {
		r.out.Rendered = int64(len(r.Trees.Lonely))
	}
	r.out.Frame, r.out.Tip = head.Row().Frame, head.Entry().ID.String()
	switch {
	case r.head == nil:
		r.out.Outcome = OutcomeCreated
	case head.Entry() != before:
		r.out.Outcome = OutcomeContinued
	}
	r.out.Overruled, r.out.Dropped, r.out.Overtaken = r.box.overruled, r.box.dropped, r.overtaken
	return r.out, r.im.memory.keep(r, head.Entry().ID)
}
