package captures

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// capturedFiles holds the files of the working copy for one capture. It reads them at most once, even if the
// entry must be built several times.
type capturedFiles struct {
	files *jjbridge.CapturedFiles // nil before the read, after a failed read, or without a working copy
	read  bool                    // whether capture was called
}

// capture reads the working copy into f.files, for a run. After the first call, it does nothing. If the working copy is
// unreadable, capture warns and returns nil, and f.files stays nil. It returns an error only if ctx has ended.
func (f *capturedFiles) capture(ctx context.Context, s *timeline.Store, run string) (err error) {
	if f.read {
		return nil
	}
	f.read = true
	if f.files, err = files.WorkingCopyOf(s).For(run, "").Capture(ctx); err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	s.Warn(fmt.Errorf("the files of the working copy were not captured: %w", err))
	return nil
}

// close removes the captured files that no entry uses. It ignores errors.
func (f *capturedFiles) close() {
	if f.files != nil {
		_ = f.files.Close() // a later capture removes a folder that stays
	}
}

// checkVCS returns invalid_input if v, the revision from an engine, has members that only a capture of the
// files may set. v may be nil.
func checkVCS(v *snapshot.VCS) error {
	if v == nil {
		return nil
	}
	for _, member := range []struct {
		name  string
		given bool
	}{
		{"root", v.Root != ""},
		{"treeId", !v.Tree.IsZero()},
		{"scope", v.Scope != ""},
		{"conflicted", v.Conflicted},
		{"attempts", v.Attempts != nil},
		{"leftOut", v.LeftOut != nil},
		{"altered", v.Altered != nil},
		{"worktrees", v.Worktrees != nil},
	} {
		if member.given {
			return fault.New(fault.InvalidInput, "only git-smithers can set vcs.%s", member.name).
				Hint(`add "worktree": true to capture the files`)
		}
	}
	return nil
}

// addFiles adds the files of the working copy to draft, if the capture includes files and the working copy is
// readable. draft.VCS then has the revision of the captured files, the worktrees of the tasks, and the keys of the
// running attempts. If req.VCS is not nil, its revision replaces the captured revision. addFiles also calls
// pointAttempts, which records the captured files in the rows of the attempts that draft ends.
func (c *Capturer) addFiles(ctx context.Context, req *Capture, files *capturedFiles, draft *snapshot.Draft) error {
	wanted, err := c.wantsFiles(req, draft)
	if err != nil || !wanted {
		return err
	}
	if err := files.capture(ctx, c.store, c.run); err != nil || files.files == nil {
		return err
	}
	vcs := files.files.VCS
	if v := req.VCS; v != nil {
		vcs.Type, vcs.CommitID, vcs.ChangeID, vcs.Operation, vcs.Branch = v.Type, v.CommitID, v.ChangeID, v.Operation, v.Branch
	}
	if vcs.Worktrees, err = c.worktrees(); err != nil {
		return err
	}
	if vcs.Attempts, err = c.runningAttempts(draft.StateChanges()); err != nil {
		return err
	}
	draft.VCS, draft.Objects = &vcs, files.files.Objects
	return c.pointAttempts(draft)
}

// wantsFiles reports whether the capture includes the files. If req.Worktree is not nil, its value decides.
// Otherwise, the capture includes the files if it creates the run, or if draft ends an attempt.
func (c *Capturer) wantsFiles(req *Capture, draft *snapshot.Draft) (bool, error) {
	switch {
	case req.Worktree != nil:
		return *req.Worktree, nil
	case c.head == nil:
		return true, nil
	}
	return c.endsAttempt(draft)
}

// worktrees returns the tasks' own worktrees at the tip, or nil if the run does not exist or its tip has no
// revision.
func (c *Capturer) worktrees() ([]snapshot.Worktree, error) {
	if c.head == nil {
		return nil, nil
	}
	tip, err := c.head.Entry().VCSRevision()
	if err != nil || tip == nil {
		return nil, timeline.Explain(err)
	}
	return tip.Worktrees, nil
}

// endsAttempt reports whether draft ends an attempt. c.head must not be nil. draft ends an attempt in these cases:
//   - A change of the journal ends an attempt; see endsJournaled.
//   - A change sets a node to an ended state, and at the tip the node is missing, has not ended, or has
//     another last attempt.
func (c *Capturer) endsAttempt(draft *snapshot.Draft) (bool, error) {
	for _, change := range draft.Journal {
		if ended, err := c.endsJournaled(change); err != nil || ended {
			return ended, err
		}
	}
	for _, change := range draft.StateChanges() {
		if change.Collection != snapshot.CollectionNodes || change.Op != snapshot.OpSet {
			continue
		}
		now, ok := partOfNode(change.Value)
		if !ok || !hasEnded(now.State) {
			continue
		}
		value, found, err := c.head.State().Nodes().Get(change.Key)
		if err != nil {
			return false, timeline.Explain(err)
		}
		before, _ := partOfNode(value)
		if !found || !hasEnded(before.State) || !sameAttempt(before, now) {
			return true, nil
		}
	}
	return false, nil
}

// nodePart has the members of a node that decide whether an attempt of the node is running.
type nodePart struct {
	State       snapshot.NodeState `json:"state"`
	LastAttempt *int               `json:"lastAttempt"`
}

// partOfNode returns the members of a node's row that this package needs. value is the row as JSON. ok is false if
// the row is invalid. The append refuses an invalid row.
func partOfNode(value []byte) (part nodePart, ok bool) {
	return part, json.Unmarshal(value, &part) == nil
}

// sameAttempt reports whether a and b may have the same last attempt. It returns true if the last attempt of
// a or b is unknown.
func sameAttempt(a, b nodePart) bool {
	return a.LastAttempt == nil || b.LastAttempt == nil || *a.LastAttempt == *b.LastAttempt
}

// hasEnded reports whether a node in this state has an ended attempt: finished, failed or cancelled.
func hasEnded(state snapshot.NodeState) bool {
	return state == snapshot.NodeFinished || state == snapshot.NodeFailed || state == snapshot.NodeCancelled
}

// endsJournaled reports whether change, a change of the journal, ends an attempt. It returns true if change sets
// an attempt to an ended state, and the attempt is missing or in progress at the tip. A run without a tip has no
// attempts. For an invalid row, endsJournaled returns false.
func (c *Capturer) endsJournaled(change snapshot.Change) (bool, error) {
	if change.Collection != snapshot.CollectionAttempts {
		return false, nil
	}
	now, ok := stateOfAttempt(change.Value)
	if !ok || now == snapshot.AttemptInProgress {
		return false, nil
	}
	if c.head == nil {
		return true, nil
	}
	attempts, err := c.head.Entry().Attempts()
	if err != nil {
		return false, timeline.Explain(err)
	}
	value, found, err := attempts.Get(change.Key)
	if err != nil {
		return false, timeline.Explain(err)
	}
	before, _ := stateOfAttempt(value)
	return !found || before == snapshot.AttemptInProgress, nil
}

// stateOfAttempt returns the state in the row of an attempt. ok is false if the row is invalid.
func stateOfAttempt(value []byte) (state string, ok bool) {
	var part struct {
		State string `json:"state"`
	}
	return part.State, json.Unmarshal(value, &part) == nil
}

// runningAttempts returns the sorted keys of the attempts that run after changes are made to the state at the tip.
// An attempt runs if its node is in progress and has the attempt as its last attempt. If the last attempt of a
// node is unknown, it is attempt 1. Invalid rows of nodes are skipped.
func (c *Capturer) runningAttempts(changes []snapshot.Change) ([]string, error) {
	running := make(map[string]string) // the attempt's key, by the node's key
	note := func(key string, value []byte) {
		delete(running, key)
		node, iteration, err := snapshot.SplitKey(key)
		part, ok := partOfNode(value)
		if err == nil && ok && part.State == snapshot.NodeInProgress {
			attempt := 1
			if part.LastAttempt != nil {
				attempt = max(attempt, *part.LastAttempt)
			}
			running[key] = snapshot.AttemptKey(node, iteration, attempt)
		}
	}
	if c.head != nil {
		for row, err := range c.head.State().Nodes().Rows() {
			if err != nil {
				return nil, timeline.Explain(err)
			}
			note(row.Key, row.Value)
		}
	}
	for _, change := range changes {
		if change.Collection == snapshot.CollectionNodes {
			note(change.Key, change.Value)
		}
	}
	var keys []string
	for _, key := range running {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}

// pointAttempts edits the journal row of each attempt that draft ends. It adds the commit and the tree of the
// captured files, the number of the next frame, and the keys of the attempts that run at that time. It skips an
// invalid row, and a row that already has a commit or a tree. draft.VCS must not be nil.
func (c *Capturer) pointAttempts(draft *snapshot.Draft) error {
	frame := int64(0)
	if c.head != nil {
		frame = c.head.Row().Frame + 1
	}
	for i, change := range draft.Journal {
		ended, err := c.endsJournaled(change)
		if err != nil {
			return err
		}
		var members map[string]json.RawMessage
		if !ended || json.Unmarshal(change.Value, &members) != nil || members["treeId"] != nil || members["commitId"] != nil {
			continue
		}
		pointer := struct {
			Commit string   `json:"commitId,omitempty"`
			Tree   string   `json:"treeId,omitempty"`
			Frame  int64    `json:"frame"`
			Beside []string `json:"beside,omitempty"`
		}{draft.VCS.CommitID, "", frame, draft.VCS.Attempts}
		if !draft.VCS.Tree.IsZero() {
			pointer.Tree = draft.VCS.Tree.String()
		}
		// The members of pointer are added to the members that the engine has set.
		data, err := json.Marshal(pointer)
		if err == nil {
			err = json.Unmarshal(data, &members)
		}
		if err == nil {
			data, err = json.Marshal(members)
		}
		if err != nil {
			return timeline.Explain(err)
		}
		draft.Journal[i].Value = data
	}
	return nil
}
