package timeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Head is the tip of a run as this process knows it. One goroutine at a time may use it.
type Head struct {
	store *Store
	tip   refs.Name
	entry *snapshot.Entry
	row   snapshot.Run
	state *snapshot.State
	// settled is the newest entry that is known to be on stable storage as the tip.
	settled objstore.ID
}

// Create starts a run with the given row. The first entry is frame 0, also if draft.Frame is nil. A run with the id
// must not exist (run_exists) or have been pruned (run_pruned). The row takes its revision from draft.VCS, and Create
// chooses draft.Base from draft.VCS if it is zero. A draft without a time gets the store's time, and a row without a
// time of creation gets the draft's. Create captures no files; [WorkingCopy.Create] does.
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
	h := &Head{store: s, tip: tip}
	if err := h.Append(ctx, draft); err != nil {
		if fault.CodeOf(err) == fault.Conflict {
			return nil, runExists(run.ID)
		}
		return nil, err
	}
	return h, nil
}

// newTip checks the id of a new run and returns the name of its tip. Code: invalid_run_id.
func newTip(id string) (refs.Name, error) {
	if len(id) > snapshot.MaxRunID || !utf8.ValidString(id) {
		return "", fault.New(fault.InvalidRunID, "a run id is text of at most %d bytes", snapshot.MaxRunID).
			Hint("leave out --run-id to have one made up")
	}
	if strings.HasPrefix(id, "-") {
		return "", fault.New(fault.InvalidRunID, "a run id does not begin with -: commands would take %q for an option", id).
			Hint("leave out --run-id to have one made up").Detail("runId", id)
	}
	tip, err := refs.Tip(id)
	return tip, Explain(err)
}

// CheckNew returns an error if the id is invalid or its run was pruned. Codes: invalid_run_id, run_pruned.
func CheckNew(ctx context.Context, s *Store, id string) error {
	if _, err := newTip(id); err != nil {
		return err
	}
	return runFinder{s.refs}.refusePruned(ctx, id)
}

// CheckFree returns an error if a run of the id cannot be created. Codes: invalid_run_id, run_exists, run_pruned.
func CheckFree(ctx context.Context, s *Store, id string) error {
	_, err := freeTip(ctx, s, id)
	return err
}

// freeTip returns the name of the tip of a new run. Codes: invalid_run_id, run_exists, run_pruned.
func freeTip(ctx context.Context, s *Store, id string) (refs.Name, error) {
	tip, err := absentTip(ctx, s, id)
	if err != nil {
		return "", err
	}
	return tip, runFinder{s.refs}.refusePruned(ctx, id)
}

// absentTip returns the name of the tip of a new run, which may have been pruned. Codes: invalid_run_id, run_exists.
func absentTip(ctx context.Context, s *Store, id string) (refs.Name, error) {
	tip, err := newTip(id)
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

func runExists(id string) error {
	return fault.New(fault.RunExists, "run %q exists already", id).
		Hint("choose another --run-id, or leave it out to have one made up").
		Hint("`git smithers show %s` shows the existing run", fault.Word(id)).Detail("runId", id)
}

// Head opens the tip of a run for appending. run is an exact run id. Head first makes frame refs that are missing after
// a crash. Code: run_not_found.
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

// Refresh reads the tip again. If the new tip does not descend from the tip that h knows, as after a fetch that split
// the run, the error is a conflict that wraps ErrOtherHistory, and h is unchanged.
func (h *Head) Refresh(ctx context.Context) error {
	return h.RefreshEach(ctx, func(*snapshot.Entry) {})
}

// RefreshEach is Refresh, and calls visit for each new entry, newest first. If h had read no tip before, it calls visit
// for none.
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
var ErrOtherHistory = errors.New("its tip does not follow the known tip")

// since calls visit for the entries above the one that h knows, from tip down. It returns a conflict if tip does not
// descend from that entry.
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
		if entry.IsView() {
			break
		}
		visit(entry)
	}
	run := h.row.ID
	return fault.New(fault.Conflict, "run %q was replaced by another history while this command used it: %w", run, ErrOtherHistory).
		Hint("if a fetch split the run because it was continued elsewhere too, your own continuation is now a fork: `git smithers branches %s` lists it", fault.Word(run)).
		Detail("runId", run).Detail("known", h.entry.ID.String()).Detail("tip", tip.ID.String())
}

// adopt sets the tip that h knows. It does not move the ref.
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

// Settle puts the tip on stable storage, unless h has written it or settled it before: the process that moved the tip
// may have died first.
func (h *Head) Settle(ctx context.Context) error {
	if h.entry == nil || h.entry.ID == h.settled {
		return nil
	}
	if err := h.store.refs.Settle(ctx, h.tip); err != nil {
		return Explain(err)
	}
	h.settled = h.entry.ID
	return nil
}

// Entry returns the tip.
func (h *Head) Entry() *snapshot.Entry { return h.entry }

// Row returns the run's row at the tip.
func (h *Head) Row() snapshot.Run { return h.row }

// State returns the workflow state at the tip.
func (h *Head) State() *snapshot.State { return h.state }

// OpenToChange opens the run of an address for appending, and loads the address's frame. The address must have the
// run's whole id. The frame is nil if the address is the id alone.
func (s *Store) OpenToChange(ctx context.Context, address string) (*Head, *Loaded, error) {
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
