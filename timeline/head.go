package timeline

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Head is the tip of a run as this process knows it. Only one goroutine at a time may use a Head.
type Head struct {
	store *Store
	tip   refs.Name
	entry *snapshot.Entry // nil until a tip was read or appended
	row   snapshot.Run    // the run's row at entry; only ID and Parent are set before the first entry
	state *snapshot.State // the workflow state at entry
	// settled is the newest entry that h has put on stable storage as the tip; zero if there is no such entry.
	settled objstore.ID
	held    *group // the entries since Hold; nil if Append puts each entry into the run at once
}

// Create starts a run with the given row and returns the run's head. The first entry is frame 0, even if
// draft.Frame is nil. Create captures no files; WorkingCopy.Create in package code does. Codes: invalid_run_id,
// run_exists, run_pruned.
//
// If one of these values is zero, Create chooses it: draft.AtMs is the store's time, run.CreatedAtMs is
// draft.AtMs, and draft.Base is found from draft.VCS (see addBase). If draft.VCS is set, the row gets its type,
// root and revision. draft.Run may then edit the row.
func (s *Store) Create(ctx context.Context, run snapshot.Run, draft snapshot.Draft) (*Head, error) {
	tip, err := freeTip(ctx, s, run.ID)
	if err != nil {
		return nil, err
	}
	if draft.AtMs == 0 {
		draft.AtMs = s.now().UnixMilli()
	}
	if err := addBase(ctx, s, &draft); err != nil {
		return nil, err
	}
	if run.CreatedAtMs == 0 {
		run.CreatedAtMs = draft.AtMs
	}
	edit := draft.Run
	draft.Run = func(row *snapshot.Run) {
		*row = run
		if v := draft.VCS; v != nil {
			row.VCSType, row.VCSRoot, row.VCSRevision = v.Type, v.Root, v.Pointer()
		}
		if edit != nil {
			edit(row)
		}
	}
	if draft.Frame == nil {
		draft.Frame = new(snapshot.FrameDraft)
	}
	h := &Head{store: s, tip: tip, row: snapshot.Run{ID: run.ID, Parent: run.Parent, Caller: run.Caller}}
	if err := h.Append(ctx, draft); err != nil {
		if fault.CodeOf(err) == fault.Conflict {
			return nil, runExists(run.ID)
		}
		return nil, err
	}
	return h, nil
}

// newTip returns the name of the tip of a new run with the given id. It does not check whether a run with the id
// exists. Code: invalid_run_id if the id is empty, longer than snapshot.MaxRunID bytes, not UTF-8, or one that commands
// misread. An id that people alone mistake is accepted: it is the user's own, or another program's.
func newTip(id string) (refs.Name, error) {
	if id != "" && misread(id) {
		why := "can be read as an address, so commands would confuse it with a frame"
		if id[0] == '-' {
			why = "begins with -, so commands would read the id as an option"
		}
		return "", fault.New(fault.InvalidRunID, "run id %q %s", id, why).
			Hint("without an id, git-smithers chooses one").Detail("runId", id)
	}
	return anyID(id)
}

// anyID returns the name of the tip of a new run as newTip does, and accepts an id that is Mistakable.
func anyID(id string) (refs.Name, error) {
	if len(id) > snapshot.MaxRunID || !utf8.ValidString(id) {
		return "", fault.New(fault.InvalidRunID, "the run id is not UTF-8 text of at most %d bytes", snapshot.MaxRunID).
			Hint("without an id, git-smithers chooses one")
	}
	tip, err := refs.Tip(id)
	return tip, Explain(err)
}

// CheckNew returns invalid_run_id if a new run must not have the id, and run_pruned if a run with the id was
// pruned. It does not check whether a run with the id exists.
func CheckNew(ctx context.Context, s *Store, id string) error {
	if _, err := newTip(id); err != nil {
		return err
	}
	return RefusePruned(ctx, s, id)
}

// RefusePruned returns run_pruned if a run with the id was pruned, and otherwise nil.
func RefusePruned(ctx context.Context, s *Store, id string) error {
	return runFinder{s.refs}.refusePruned(ctx, id)
}

// CheckFree returns the error with which Create would refuse the id, or nil if a new run may have the id. Codes:
// invalid_run_id, run_exists, run_pruned.
func CheckFree(ctx context.Context, s *Store, id string) error {
	_, err := freeTip(ctx, s, id)
	return err
}

// FreeID returns an id for a copy of a run: the run's id and the first number, from 2, with which no run here has it nor, as far as is
// known, one at the remote with the given ref component. If a hundred are taken, FreeID returns NEWID.
func FreeID(ctx context.Context, s *Store, run, remote string) string {
	const most = 100
	for n := 2; n < most; n++ {
		id := fmt.Sprintf("%s-%d", run, n)
		name, err := refs.Remote(remote, id)
		if _, there := s.refs.Resolve(ctx, name); err == nil && there != nil && CheckFree(ctx, s, id) == nil {
			return id
		}
	}
	return "NEWID"
}

// freeTip returns the name of the tip of a new run with the given id. Codes: invalid_run_id, run_exists,
// run_pruned.
func freeTip(ctx context.Context, s *Store, id string) (refs.Name, error) {
	tip, err := absentTip(ctx, s, id, newTip)
	if err != nil {
		return "", err
	}
	return tip, runFinder{s.refs}.refusePruned(ctx, id)
}

// absentTip returns the name of the tip of a new run with the given id, which the function named checks. Unlike freeTip,
// it accepts the id of a pruned run. Codes: invalid_run_id, run_exists.
func absentTip(ctx context.Context, s *Store, id string, named func(id string) (refs.Name, error)) (refs.Name, error) {
	tip, err := named(id)
	if err != nil {
		return "", err
	}
	if _, err := s.refs.Resolve(ctx, tip); err == nil {
		return "", runExists(id)
	} else if !errors.Is(err, refs.ErrNotFound) {
		return "", Explain(err)
	}
	return tip, nil
}

// runExists returns run_exists for an id, with hints for a command that has the option --run-id.
func runExists(id string) error {
	return fault.New(fault.RunExists, "run %q exists already", id).
		Hint("choose another id").
		Hint("without an id, git-smithers chooses one").
		Hint("`git smithers show %s` shows the existing run", fault.Word(id)).Detail("runId", id)
}

// Head returns the head of a run, for appending. run is the run's whole id. If frame refs are missing after a
// crash, Head makes these refs. Code: run_not_found.
func (s *Store) Head(ctx context.Context, run string) (*Head, error) {
	tip, err := refs.Tip(run)
	if err != nil {
		return nil, Explain(err)
	}
	h := &Head{store: s, tip: tip}
	if err := h.Refresh(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

// HeadOf returns the head of a run at its newest entry, which Load has read for an address without a frame: a command that
// has resolved an address goes on with that entry, and not with one that was appended meanwhile. HeadOf reads no ref.
func (s *Store) HeadOf(newest *LoadedEntry) (*Head, error) {
	tip, err := refs.Tip(newest.Address.Run)
	if err != nil {
		return nil, Explain(err)
	}
	h := &Head{store: s, tip: tip}
	return h, h.adopt(newest.Entry)
}

// Refresh reads the run's tip, and makes frame refs that are missing after a crash. If the tip has not moved,
// Refresh does nothing. If the new tip does not descend from the tip that h knows, for example after a fetch that
// split the run, h is unchanged. The error is then a conflict that wraps ErrOtherHistory. Code: run_not_found if
// the run was removed.
func (h *Head) Refresh(ctx context.Context) error {
	return h.RefreshEach(ctx, func(*snapshot.Entry) {})
}

// RefreshEach does the work of Refresh, and calls visit for each new entry, newest first. If h knew no tip before,
// RefreshEach does not call visit. If RefreshEach returns an error, it may already have called visit for some
// entries.
func (h *Head) RefreshEach(ctx context.Context, visit func(*snapshot.Entry)) error {
	id, err := h.store.refs.Resolve(ctx, h.tip)
	if errors.Is(err, refs.ErrNotFound) {
		return fault.New(fault.RunNotFound, "%w", err).Hint("`git smithers runs` lists the runs")
	}
	if err != nil {
		return Explain(err)
	}
	if h.entry != nil && h.entry.ID == id {
		return nil
	}
	entry, err := snapshot.ReadEntry(h.store.objects, id)
	if err != nil {
		return Explain(fmt.Errorf("read %s: %w", h.tip, err))
	}
	if err := h.since(entry, visit); err != nil {
		return err
	}
	if err := h.adopt(entry); err != nil {
		return err
	}
	return h.store.FrameRefs().repair(ctx, h.row, entry)
}

// ErrOtherHistory is wrapped by a conflict if the new tip does not descend from the known tip.
var ErrOtherHistory = errors.New("the new tip does not follow the known tip")

// since calls visit for each entry that is newer than the entry that h knows, from tip down. If tip does not
// descend from the entry that h knows, since returns a conflict that wraps ErrOtherHistory. It may have called
// visit before it returns an error. If h knows no entry, since does nothing.
func (h *Head) since(tip *snapshot.Entry, visit func(*snapshot.Entry)) error {
	if h.entry == nil {
		return nil
	}
	for entry, err := range h.store.Chain(tip) {
		if err != nil {
			return Explain(err)
		}
		if entry.ID == h.entry.ID {
			return nil
		}
		if entry.IsView() { // the entry was made under another run's id: all entries of this run have been read
			break
		}
		visit(entry)
	}
	run := h.row.ID
	return fault.New(fault.Conflict, "the history of run %q was replaced while this command used the run: %w", run, ErrOtherHistory).
		Hint("`git smithers branches %s` lists the fork with your own continuation, if a fetch split the run", fault.Word(run)).
		Detail("runId", run).Detail("known", h.entry.ID.String()).Detail("tip", tip.ID.String())
}

// adopt makes entry the tip that h knows, and reads the run's row and state at entry. It does not move the ref.
// If adopt returns an error, h is unchanged.
func (h *Head) adopt(entry *snapshot.Entry) error {
	row, err := entry.RunRow()
	if err != nil {
		return Explain(err)
	}
	state, err := entry.State()
	if err != nil {
		return Explain(err)
	}
	h.entry, h.row, h.state = entry, row, state
	return nil
}

// Settle puts the run's tip on stable storage, since the process that moved the tip may have died before it did
// so. If h knows no entry, has already written or settled the entry that it knows, or holds entries, Settle does nothing.
func (h *Head) Settle(ctx context.Context) error {
	if h.entry == nil || h.entry.ID == h.settled || h.held != nil {
		return nil
	}
	if err := h.store.refs.Settle(ctx, h.tip); err != nil {
		return Explain(err)
	}
	h.settled = h.entry.ID
	return nil
}

// Entry returns the entry at the tip that h knows.
func (h *Head) Entry() *snapshot.Entry { return h.entry }

// Row returns the run's row at the tip that h knows.
func (h *Head) Row() snapshot.Run { return h.row }

// State returns the workflow state at the tip that h knows.
func (h *Head) State() *snapshot.State { return h.state }

// OpenToChange returns the head of the run that an address names, for appending, and the frame of the address. The
// address must have the run's whole id. If the address is the id alone, the returned frame is nil. Codes: those of
// LoadFor with ToChange.
func (s *Store) OpenToChange(ctx context.Context, address string) (*Head, *LoadedEntry, error) {
	at, tip, err := s.resolve(ctx, address, ToChange)
	if err != nil {
		return nil, nil, err
	}
	head, err := s.Head(ctx, at.Run)
	if err != nil || at.Frame == snapshot.NoFrame {
		return head, nil, err
	}
	frame, err := s.LoadFrame(ctx, at, tip)
	return head, frame, err
}
