package smithers

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/export"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// open reads the stored part of the run and prepares the pass. If the repository does not have the run, r.head stays
// nil. known is true if the run in the repository already has all rows of the database: the rows are as in the last
// import, or an export wrote the rows. In this case open does not read the rest of the stored part.
//
// The error has one of these codes: conflict if the run's tip has changed since the pass began, and run_owned if a
// live process owns the run.
func (r *runPass) open(ctx context.Context) (known bool, err error) {
	if !r.live {
		if r.kept, r.found, err = r.Kept(); err != nil {
			return false, err
		}
	}
	r.was, r.now, r.box = &stored.Peer{}, &stored.Peer{}, mailbox{Mail: r.Mail}
	r.journal, r.done = journal{attempts: map[string]snapshot.Attempt{}, logs: map[string]string{}, calls: map[string]string{}, scores: map[string]string{}}, make([]bool, len(r.Attempts))
	r.head, err = r.im.store.Head(ctx, r.ID)
	if fault.CodeOf(err) == fault.RunNotFound {
		r.head = nil
		return false, nil
	}
	if err != nil {
		return false, err
	}
	tip := r.head.Entry()
	r.opened = true
	// The pass read the tips before the database. If the tip is new, another process may have imported newer rows than
	// this pass has read.
	if !r.im.tips[tip.ID] {
		return false, errOvertaken(r.ID)
	}
	r.out.Frame, r.out.Tip = r.head.Row().Frame, tip.ID.String()
	last, err := stored.ReadPass(tip)
	if err != nil {
		return false, err
	}
	if r.hidden, err = hidesImported(r.im.store.Objects(), tip, last); err != nil {
		return false, err
	}
	if last.Rows != "" && last.Rows == r.found && !r.hidden && !last.IsOlder() {
		return true, nil
	}
	if !r.live && !last.IsOlder() {
		if ours, err := r.isExported(ctx, tip); ours || err != nil {
			return ours, err
		}
	}
	if err := r.im.store.RefuseOwned(r.head.Row()); err != nil {
		return false, err
	}
	if known := r.im.memory.take(r.ID, tip.ID); known != nil {
		r.recall(known)
		return false, nil
	}
	return false, r.readKept(tip)
}

// readKept reads the stored part of the run at tip from the repository. If the run is a fork that was never
// imported, its ext/smithers is that of its parent and describes frames of the parent. r.now then takes only the
// layout of outputs.
func (r *runPass) readKept(tip *snapshot.Entry) (err error) {
	store := r.im.store
	if r.frames, err = stored.FramesOf(store, tip); err != nil {
		return err
	}
	known, err := stored.ReadTip(store, tip)
	if err != nil {
		return err
	}
	r.imported, r.was, r.now = known.Imported, known.Peer, &stored.Peer{Layout: known.Peer.Layout}
	if r.imported {
		if r.now, err = stored.ReadPeer(tip); err != nil {
			return err
		}
		if r.was.Pass.IsOlder() {
			r.dropOlder()
		}
	}
	if r.stored, err = stored.EventsTo(store, tip); err != nil {
		return err
	}
	if r.ours, err = treeOf(store, tip); err != nil {
		return err
	}
	r.journal, err = readJournal(tip)
	return err
}

// dropOlder removes what an earlier version kept of frames from r.now, except Smithers' numbers. The pass describes the
// frames anew: see follow.
func (r *runPass) dropOlder() {
	for frame, row := range r.now.Frames {
		r.now.Frames[frame] = stored.FrameRow{PeerNo: row.PeerNo}
	}
	r.now.Marks = nil
}

// begin begins the series and returns the index in r.Heads of the first new snapshot. If the repository does not
// have the run, begin calls create. Otherwise begin compares the database with the stored part of the run, sets
// r.behind, and calls goOn.
//
// The error has the code run_exists if the repository has another run with the id. An imported run is another run
// if it began at another time. A run that was never imported is another run if no frames agree. The code is
// import_refused if the database is an older copy, or if the run continued in two databases.
func (r *runPass) begin(ctx context.Context) (int, error) {
	if r.head == nil {
		return 0, r.create(ctx)
	}
	if r.imported {
		if r.head.Row().CreatedAtMs != r.Ours.CreatedAtMs {
			return 0, fault.New(fault.RunExists, "the repository has another run %q: the run in the database began at another time", r.ID).
				Hint("`git smithers prune %s` removes the run in the repository", fault.Word(r.ID)).
				Hint("to keep both runs, import the database into another clone").Detail("runId", r.ID)
		}
		if err := r.continuation().refuseOther(); err != nil {
			return 0, err
		}
	}
	r.tellOurs()
	if err := r.keepAnswers(); err != nil {
		return 0, err
	}
	at := stored.Meet(r.frames, r.now, r.head.Row().Parent != nil, r.Heads)
	switch {
	case !r.imported && at.Count == 0:
		return 0, fault.New(fault.RunExists, "the repository has another run %q: the run in the database has other frames", r.ID).
			Hint("`git smithers prune %s` removes the run in the repository", fault.Word(r.ID)).
			Hint("to keep both runs, import the database into another clone").Detail("runId", r.ID)
	// No frame agrees. The run was imported, so Smithers' frames follow frame 0.
	case at.End == snapshot.NoFrame:
		at.End = 0
	}
	// r.behind is the number of the database's events that the repository has.
	r.behind = r.Events.CountKnown(r.stored)
	if r.imported {
		// An export may have written more events of the repository to the database since the import.
		r.behind = max(int(r.was.Pass.Events), r.Events.CountExported(r.stored, int(r.was.Pass.Events)))
		// If another clone exported the run, new events may stand between the known events of the database.
		if !r.Events.HasFirst(r.stored, r.behind) {
			r.behind = r.Events.PutKnownFirst(r.stored)
		}
	}
	return at.Count, r.goOn(ctx, at)
}

// goOn begins the series of a run that the repository has. at is the meeting of Smithers' list of frames with the
// frames in the repository. The two lists agree up to at.End.
//
// If Smithers rewound the run, goOn appends a frame that takes the run back: see goBack. If an undo in the
// repository hid Smithers' newest frame, goOn appends a frame that takes the run forward: see goForward. In any
// other case, the next frame will be based on at.End.
func (r *runPass) goOn(ctx context.Context, at stored.Meeting) (err error) {
	more, newest := at.Count < len(r.Heads), r.head.Row().Frame
	back := r.imported && at.End < r.newestPeer(r.now)
	forward := r.hidden && !more && !back && at.End != newest
	if more || back || forward {
		if at, err = r.overtake(at); err != nil {
			return err
		}
	}
	if err := r.follow(at); err != nil {
		return err
	}
	r.series = timeline.SeriesOf(r.head)
	r.entry, r.ext = r.series.Entry(), r.was
	switch {
	case back:
		return r.goBack(ctx, at)
	case forward:
		return r.goForward(ctx, at)
	case at.End != newest:
		r.based = new(at.End)
	}
	return nil
}

// newestPeer returns git-smithers' number of the newest frame that Smithers had at the last import, or
// snapshot.NoFrame if Smithers had no frame. now has Smithers' numbers of frames.
func (k *keptRun) newestPeer(now *stored.Peer) int64 {
	for _, f := range slices.Backward(k.frames) {
		if f.Number <= k.was.Pass.Frame && now.PeerNo(f.Number) != tables.NoNumber {
			return f.Number
		}
	}
	return snapshot.NoFrame
}

// keepAnswers looks for the answers in the repository that Smithers lacks. It adds these answers to r.box, and
// sets r.now.Answers to their keys. The error is import_refused if the database lacks signals that Smithers had at
// the last import.
func (r *runPass) keepAnswers() error {
	r.now.Answers = nil
	given, err := stored.AnswersAt(r.im.store, r.head.Entry(), r.was.Answers)
	if err != nil {
		return err
	}
	if r.imported { // without an import, the signals that Smithers had are unknown
		if err := r.continuation().refuseLacking(r.Mail.Signals, given.Known); err != nil {
			return err
		}
	}
	r.box.keep(given)
	r.now.Answers = r.box.here.Keys()
	return nil
}

// isExported reports whether an export of the run wrote all rows of the run in the database. tip is the run's tip.
// An export of a changed run writes no row of _smithers_frames without a snapshot, so isExported returns false for
// such a row.
func (r *runPass) isExported(ctx context.Context, tip *snapshot.Entry) (bool, error) {
	if len(r.Trees.Lonely) > 0 {
		return false, nil
	}
	found := export.Found{Run: r.Ours, Row: r.Row, Own: r.Own, Tables: r.Tx.Tables(), Rows: r.Rows, Heads: r.Heads}
	return found.IsExported(ctx, r.im.store, tip)
}
