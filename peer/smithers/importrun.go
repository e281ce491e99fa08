package smithers

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/smithersdb"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// runPass brings one run up to date.
type runPass struct {
	im *importing
	*peerRun

	// What the repository has of it, and gets.
	head     *timeline.Head // nil for a run that is to be made
	frames   []frame        // before this pass
	was      *peer          // as it is stored
	now      *peer          // as it is to be
	imported bool           // something of the run was imported before
	live     bool           // the pass is about new frames alone
	series   *timeline.Series
	journal  map[string]snapshot.Attempt // by its key: as the newest entry has it
	logs     map[string]string
	stored   []snapshot.Event
	behind   int          // how many of events are stored
	line     []frameFacts // Smithers' frames, as far as they are stored
	based    *int64       // of the next frame, where it does not follow the run's newest
	before   *moment      // the newest of them
	hidden   bool         // an undo here went back to before what was imported: see hidesImported
	tree     string       // its rendered tree, as Smithers has it; "" for none
	last     smithersdb.Row
	lastRow  smithersdb.Row // of the newest frame in _smithers_frames

	lastTree string        // ours at that frame
	ours     string        // the rendered tree of the newest entry
	files    *snapshot.VCS // what was captured for the newest frame; nil for nothing
	opened   bool          // the run that is to be made has an entry
	made     []objstore.ID // the entries of this pass

	// Of what was found on the way, so that it is not looked for again with each frame.
	seq       *int64               // see nextSeq
	byPeer    map[int64]frameFacts // see hashesOf
	indexed   int                  // how many of the line are in it
	described []int64              // the frames whose rows in ext were set

	box      mailbox
	recalled *knownRows // what the watch knew of the run's rows at the run's tip

	overtakes overtaking  // what the next frame takes back
	overtaken []Overtaken // what is reported of it

	found  string // the digest of the rows that the database has
	parent *snapshot.Parent
	out    ImportedRun
}

// importRun brings one run up to date: all of what is new becomes visible together.
func (im *importing) importRun(ctx context.Context, tx *smithersdb.Tx, from source) (ImportedRun, error) {
	if upTo, live := im.upTo[from.id]; live {
		if out, done, err := im.framesFirst(ctx, tx, from, upTo); done || err != nil {
			return out, err
		}
	}
	if err := im.needUnowned(tx); err != nil {
		return ImportedRun{}, err
	}
	r := im.runPass(tx, from)
	if err := r.read(); err != nil {
		return r.out, err
	}
	if known, err := r.open(ctx); known || err != nil {
		return r.out, err
	}
	if r.head == nil && len(r.heads) == 0 && r.run.Status == snapshot.RunRunning {
		return r.out, nil // its input comes with the first snapshot
	}
	first, err := r.begin(ctx)
	if err != nil {
		return r.out, err
	}
	defer r.series.Close()
	before := r.series.Entry()
	for i := first; i < len(r.heads); i++ {
		if err := r.appendFrame(ctx, i); err != nil {
			return r.out, fmt.Errorf("frame %d: %w", r.heads[i].Frame, err)
		}
		if im.req.Progress != nil {
			im.req.Progress(r.id, i-first+1, len(r.heads)-first)
		}
	}
	if err := r.appendTail(ctx); err != nil {
		return r.out, err
	}
	if err := r.appendExt(ctx, r.series.Entry() != before); err != nil {
		return r.out, err
	}
	return r.commit(ctx, before)
}

// runPass begins a pass over a run.
func (im *importing) runPass(tx *smithersdb.Tx, from source) *runPass {
	theirs := &peerRun{source: from, tx: tx, own: im.own, left: im.left, all: im.copies}
	return &runPass{im: im, peerRun: theirs, out: ImportedRun{RunID: from.id, Outcome: OutcomeUnchanged}}
}

// commit makes what was appended the run's, if it was made of one state of the database.
func (r *runPass) commit(ctx context.Context, before *snapshot.Entry) (ImportedRun, error) {
	if err := r.tx.Check(); err != nil {
		return r.out, err
	}
	head, err := r.series.Commit(ctx)
	if r.head == nil && fault.CodeOf(err) == fault.RunExists {
		return r.out, errOvertaken(r.id)
	}
	if err != nil {
		return r.out, err
	}
	r.im.made = append(r.im.made, r.made...)
	if len(r.heads) == 0 {
		r.out.Rendered = int64(len(r.lonely))
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
