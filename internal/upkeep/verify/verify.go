// Package verify checks the stored history of runs. It changes nothing, except that it may create the missing ref of a
// run's newest frame.
package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Problem is one error in the stored history, in the files with objects, or in the index.
type Problem struct {
	Run    string     `json:"runId"`            // "" if the problem belongs to no run
	Frame  *int64     `json:"frame"`            // nil if the problem belongs to no frame
	Commit string     `json:"commit,omitempty"` // the entry's id; "" if the problem belongs to no entry
	File   string     `json:"file,omitempty"`   // relative to the common directory; "" if the problem is in a run
	Code   fault.Code `json:"code"`
	What   string     `json:"message"`
}

// Report is the result of a verification: the numbers of checked runs, entries and frames, and the problems.
// Problems is never nil.
type Report struct {
	Runs    int `json:"runs"`
	Entries int `json:"entries"`
	Frames  int `json:"frames"`
	// Unnamed counts the frames that should have a ref and have no ref, for example after a crash. The chain
	// has these frames.
	Unnamed int `json:"framesWithoutRef,omitempty"`
	// Unindexed counts the packs without an index. git does not look at them, and doctor saves their objects.
	Unindexed int `json:"packsWithoutIndex,omitempty"`
	// Promised counts the captured objects that are missing in a partial clone and that a remote promises.
	// git fetches such objects when a command needs them.
	Promised int       `json:"promisedObjects,omitempty"`
	Problems []Problem `json:"problems"`
}

// Runs checks every entry that the tips of the named runs (ids or unique prefixes), or of all runs, reach. It checks
// each object against its id, and each encoding against the only valid encoding. It checks content hashes, the sums of
// pages, frame deltas, and the numbers of frames, events, signals and ops. It also checks the changes that each entry
// makes, the captured files, and the frame refs; and, for all runs, what stays in write-ahead logs. It does not read a run in an older format, which is one problem.
// Objects that a remote promises to a partial clone are not problems, and are not fetched. Runs writes nothing, except
// the ref of a newest frame that a crash left out. The report has the problems; if there is an error, there is no
// report.
func Runs(ctx context.Context, s *timeline.Store, runs ...string) (*Report, error) {
	return Watched(ctx, s, Watch{Entry: func(*snapshot.Entry) {}, Chain: func(objstore.ID, map[int64]objstore.ID) {}}, runs...)
}

// Watch has functions that a verification calls, so that its caller need not read the same entries again. It may call
// them twice for one entry or run.
type Watch struct {
	Entry func(entry *snapshot.Entry)                         // called for each readable entry, which may be a view
	Chain func(tip objstore.ID, frames map[int64]objstore.ID) // called with the frames of each run without a problem
}

// Watched makes the checks of [Runs], and calls the functions of watch.
func Watched(ctx context.Context, s *timeline.Store, watch Watch, runs ...string) (*Report, error) {
	v := newVerifier(s)
	v.watch = watch
	report, err := v.runs(ctx, runs)
	if err != nil || len(v.files.absent) == 0 {
		return report, err
	}
	absent := slices.SortedFunc(maps.Keys(v.files.absent), objstore.ID.Compare)
	lost, err := Unpromised(ctx, s, absent)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	// The first pass took every missing object for a promised object. A second pass reports the lost objects.
	if len(lost) > 0 {
		v = newVerifier(s)
		v.watch = watch
		v.files.lost = asSet(lost)
		if report, err = v.runs(ctx, runs); err != nil {
			return nil, err
		}
	}
	report.Promised = len(v.files.absent)
	return report, nil
}

// runs checks the runs with the ids or unique prefixes in runs, or all runs if runs is empty, and returns the
// report. A run with a broken tip is checked as far as its frame refs reach.
func (v *verifier) runs(ctx context.Context, runs []string) (*Report, error) {
	s := v.store
	if len(runs) > 0 {
		for _, run := range runs {
			id, tip, err := s.FindRun(ctx, run, timeline.ToRead)
			if errors.Is(err, refs.ErrBroken) {
				if err := v.brokenTip(ctx, run, err); err != nil {
					return nil, err
				}
				continue
			}
			if err != nil {
				return nil, err
			}
			if err := v.run(ctx, id, tip); err != nil {
				return nil, err
			}
		}
		return v.report, nil
	}
	tips, err := s.Refs().Tips(ctx)
	if err := v.brokenTips(ctx, err); err != nil {
		return nil, timeline.Explain(err)
	}
	for _, tip := range tips {
		id, ok, err := refs.UnescapeRun(tip.Component)
		if err != nil {
			v.note(tip.Component, nil, timeline.Explain(err))
			continue
		}
		if !ok {
			id = hashedRun(s, tip)
		}
		if err := v.run(ctx, id, tip.ID); err != nil {
			return nil, err
		}
	}
	return v.report, v.logs()
}

// logs notes what was acknowledged and is in no run: the calls of programs that were refused, and the write-ahead logs of git-smithers 0.1.
func (v *verifier) logs() error {
	for _, left := range []struct{ in, what string }{
		{"calls/*.refused", "calls of a program were acknowledged and then refused: each line has the reason and the call"},
		{"wal/*", "git-smithers 0.1 has left entries here: `git-smithers runs` of version 0.1.2 puts them into their runs"},
	} {
		files, err := filepath.Glob(filepath.Join(v.store.Private(), filepath.FromSlash(left.in)))
		if err != nil {
			return err
		}
		for _, file := range files {
			where := path.Join(timeline.PrivateDir, path.Dir(left.in), filepath.Base(file))
			v.report.Problems = append(v.report.Problems, Problem{Code: fault.StrandedLog, File: where, What: left.what})
		}
	}
	return nil
}

// hashedRun returns the id of the run of tip. The ref component of tip is a hash of this id. If the run is unreadable,
// hashedRun returns the component.
func hashedRun(s *timeline.Store, tip refs.TipRef) string {
	entry, err := snapshot.ReadEntry(s.Objects(), tip.ID)
	if err != nil {
		return tip.Component
	}
	row, err := entry.RunRow()
	if err != nil {
		return tip.Component
	}
	return row.ID
}

// verifier fills a report. It checks an object that several entries share only once.
type verifier struct {
	store  *timeline.Store
	watch  Watch
	report *Report
	states map[objstore.ID]bool // the states without a problem
	sound  snapshot.Sound       // the collections without a problem
	files  *fileVerifier
}

// newVerifier returns a verifier with an empty report. In a partial clone, the verifier will also collect the missing
// captured objects, because a remote may still have them.
func newVerifier(s *timeline.Store) *verifier {
	files := newFileVerifier(s.Objects())
	if s.Repo().Config.IsPartial() {
		files.absent = make(map[objstore.ID]bool)
	}
	return &verifier{
		store: s, report: &Report{Problems: []Problem{}},
		states: make(map[objstore.ID]bool), files: files,
	}
}

// note adds err to the report as a problem of run and entry. entry is nil if the problem belongs to no entry.
func (v *verifier) note(run string, entry *snapshot.Entry, err error) {
	if entry == nil {
		v.noteAt(run, objstore.ID{}, snapshot.NoFrame, err)
		return
	}
	v.noteAt(run, entry.ID, entry.Frame, err)
}

// noteAt adds err to the report as a problem of run. commit is the id of the entry, or zero. frame is the entry's frame
// number, or snapshot.NoFrame.
func (v *verifier) noteAt(run string, commit objstore.ID, frame int64, err error) {
	p := Problem{Run: run, Code: fault.CodeOf(timeline.Explain(err)), What: err.Error()}
	if !commit.IsZero() {
		p.Commit = commit.String()
	}
	if frame != snapshot.NoFrame {
		p.Frame = &frame
	}
	v.report.Problems = append(v.report.Problems, p)
}

// brokenTips checks the runs with broken tip refs. err is the error of the function that listed the tips.
// brokenTips returns the part of err that is not about broken refs.
func (v *verifier) brokenTips(ctx context.Context, err error) error {
	broken, err := timeline.BrokenRefs(err)
	for _, b := range broken {
		if err := v.brokenTip(ctx, refs.ShownRun(path.Base(string(b.Name))), b); err != nil {
			return err
		}
	}
	return err
}

// run checks the run with the given id and tip, and notes its problems. It checks the chain, the trees of the
// attempts, and the frame refs, and recreates the newest frame's ref if a crash left it out. For a run in an older
// format, an unreadable row, or the row of another run, run notes one problem and checks nothing else. If the tip
// is unreadable, run checks the entries that frame refs reach. It returns an error only if ctx has ended.
func (v *verifier) run(ctx context.Context, id string, tip objstore.ID) error {
	v.report.Runs++
	before := len(v.report.Problems)
	entry, err := snapshot.ReadEntry(v.store.Objects(), tip)
	if errors.Is(err, snapshot.ErrOlderFormat) {
		v.noteAt(id, tip, snapshot.NoFrame, err)
		return nil
	}
	if err != nil {
		return v.withoutTip(ctx, id, tip, fmt.Errorf("tip %v: %w", tip, err))
	}
	row, err := entry.RunRow()
	if err != nil {
		v.note(id, entry, err)
		return nil
	}
	if row.ID != id {
		v.note(id, entry, fmt.Errorf("%w: the entry belongs to run %q", refs.ErrBroken, row.ID))
		return nil
	}
	if err := v.store.FrameRefs().RepairNewest(ctx, row, entry); err != nil {
		v.note(id, entry, err)
	}
	frames, err := v.chain(ctx, id, entry)
	if err != nil {
		return err
	}
	if err := v.files.attempts(ctx, entry); err != nil {
		v.note(id, entry, err)
	}
	if row.Parent != nil { // frame 0 of a fork may be a frame of the parent
		if _, ok := frames[0]; !ok {
			frames[0] = row.Parent.Commit
		}
	}
	if v.frameRefs(ctx, row, tip, frames); len(v.report.Problems) == before {
		v.watch.Chain(tip, frames)
	}
	return ctx.Err()
}

// chain checks every entry in the chain of the run id against the entry before it, and notes the problems. If a
// part of the chain is unreadable, chain checks the entries behind it as far as frame refs reach. It returns the
// commits of the frames by number. The error is not nil only if ctx has ended.
func (v *verifier) chain(ctx context.Context, id string, tip *snapshot.Entry) (map[int64]objstore.ID, error) {
	frames := make(map[int64]objstore.ID)
	ops := newOpsVerifier()
	if broken := v.stretch(ctx, id, tip, frames, ops); broken != nil {
		return frames, v.remains(ctx, id, tip, frames, broken)
	}
	if err := ops.check(tip); err != nil {
		v.note(id, tip, err)
	}
	return frames, nil
}

// stretch checks the entries of a chain, from newest back to the start of the chain, and notes their problems. An
// invalid entry is not compared with its neighbors. id is the run's id. stretch adds the commits of the frames to
// frames, and records the entries in ops. It returns the place where the chain becomes unreadable, or nil if the
// whole chain is readable.
func (v *verifier) stretch(ctx context.Context, id string, newest *snapshot.Entry, frames map[int64]objstore.ID, ops *opsVerifier) *brokenChain {
	var newer *link
	at := newest
	walk, stop := v.ahead(newest)
	defer stop()
	for entry, err := range walk.Entries() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			// at is the last readable entry.
			return &brokenChain{at.Parent, err}
		}
		at = entry
		v.watch.Entry(entry)
		v.report.Entries++
		if entry.Frame != snapshot.NoFrame {
			v.report.Frames++
			frames[entry.Frame] = entry.ID
		}
		ops.met(entry.ID)
		row, err := v.entry(ctx, entry)
		if err != nil {
			v.note(id, entry, err)
			newer = nil
			continue
		}
		older := &link{entry, row}
		if newer != nil {
			if err := v.follows(older, newer, ops); err != nil {
				v.note(id, newer.entry, err)
			}
		}
		newer = older
	}
	if newer != nil {
		if err := v.begins(newer, ops); err != nil {
			v.note(id, newer.entry, err)
		}
	}
	return nil
}

// ahead returns a walk from newest whose entries and states another goroutine reads while the caller checks those before.
func (v *verifier) ahead(newest *snapshot.Entry) (walk *snapshot.Walk, stop func()) {
	walk = snapshot.NewWalk(v.store.Objects(), newest)
	return walk, walk.Ahead(func(entry *snapshot.Entry) { _, _ = entry.State() }) // the check gets the same error
}

// entry checks one entry as it is stored, without the entries before it, and returns its row. It checks the frame
// number, the event numbers, the revision, the workflow, the rendered tree, the state, the pages of the journal,
// and the captured files. The error describes the first problem.
func (v *verifier) entry(ctx context.Context, entry *snapshot.Entry) (snapshot.Run, error) {
	entry = entry.Stored()
	row, err := entry.RunRow()
	if err != nil {
		return row, err
	}
	if entry.Frame != snapshot.NoFrame && entry.Frame != row.Frame {
		return row, fmt.Errorf("%w: the commit has frame %d, but run.json has frame %d", objstore.ErrCorrupt, entry.Frame, row.Frame)
	}
	if err := v.events(entry, row); err != nil {
		return row, err
	}
	vcs, err := entry.VCSRevision()
	if err != nil {
		return row, err
	}
	if _, err := entry.Workflow(); err != nil {
		return row, err
	}
	if _, err := v.store.FrameCache().Rendered(v.store.Objects(), entry); err != nil {
		return row, err
	}
	if err := v.state(entry); err != nil {
		return row, err
	}
	if err := v.journal(entry); err != nil {
		return row, err
	}
	if err := v.files.carried(ctx, entry); err != nil {
		return row, err
	}
	return row, v.files.captured(ctx, vcs)
}

// events checks the numbers of the events of entry: they are consecutive, and row.NextSeq follows the number of the
// last event.
func (v *verifier) events(entry *snapshot.Entry, row snapshot.Run) error {
	events, err := entry.Events()
	if err != nil {
		return err
	}
	for i, e := range events {
		if want := row.NextSeq - int64(len(events)) + int64(i); e.Seq != want {
			return fmt.Errorf("%w: an event has the number %[3]d, expected %[2]d", objstore.ErrCorrupt, want, e.Seq)
		}
	}
	return nil
}

// state checks the content hash of the state of entry, and the collections of the state. It checks the
// collections of a shared state once.
func (v *verifier) state(entry *snapshot.Entry) error {
	state, err := entry.State()
	if err != nil {
		return err
	}
	if sum := state.ContentHash(); sum != entry.ContentHash {
		return fmt.Errorf("%w: the state's content hash is %v, but the commit has %v", objstore.ErrCorrupt, sum, entry.ContentHash)
	}
	if v.states[state.ID()] || state.ID().IsZero() {
		return nil
	}
	if err := state.Verify(&v.sound); err != nil {
		return err
	}
	v.states[state.ID()] = true
	return nil
}

// journal checks the pages of the journal of entry, but not the content of the rows: follows and begins check
// the rows.
func (v *verifier) journal(entry *snapshot.Entry) error {
	journal, err := entry.Journal()
	if err != nil {
		return err
	}
	for _, part := range journal {
		if err := v.sound.Verify(part.Name, part.Rows, anyRow); err != nil {
			return err
		}
	}
	return nil
}

// anyRow accepts every row: it returns nil.
func anyRow(page.Row) error { return nil }

// frameRefs compares the frame refs of a run with frames, the commits of the frames in its chain. It notes
// each ref with another commit, and each broken ref. It only counts missing refs in Unnamed, because the
// chain has their frames. tip is the tip from which the chain was read. If the run has another tip by now, its newer frames
// are left to the next check.
func (v *verifier) frameRefs(ctx context.Context, row snapshot.Run, tip objstore.ID, frames map[int64]objstore.ID) {
	list, err := v.store.Refs().Frames(ctx, row.ID)
	broken, err := timeline.BrokenRefs(err)
	for _, b := range broken {
		v.note(row.ID, nil, b)
	}
	if err != nil {
		v.note(row.ID, nil, err)
		return
	}
	lacking, err := v.store.FrameRefs().Lacking(row.ID, list, frames)
	if err != nil {
		v.note(row.ID, nil, err)
	}
	v.report.Unnamed += len(lacking)
	for _, ref := range list {
		if frames[ref.Frame] == ref.ID || ref.Frame > row.Frame && v.grew(ctx, row.ID, tip) {
			continue
		}
		frame := ref.Frame
		v.report.Problems = append(v.report.Problems, Problem{
			Run: row.ID, Frame: &frame, Commit: ref.ID.String(), Code: fault.BrokenRef,
			What: fmt.Sprintf("the ref of frame %d points to an entry that is not this frame in the run's chain", ref.Frame),
		})
	}
}

// grew reports whether a run has another tip than the given one.
func (v *verifier) grew(ctx context.Context, id string, tip objstore.ID) bool {
	_, now, err := v.store.FindRunExactly(ctx, id)
	return err == nil && now != tip
}
