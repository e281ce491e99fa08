package files

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// RevertRequest asks for the files as they were after an attempt.
type RevertRequest struct {
	Run       string // the run's id, or the address of a frame of the run
	Node      string
	Iteration int
	Attempt   int  // 0 means the newest attempt of the iteration, as of the frame if Run names a frame
	DryRun    bool // report the changes, and change no file
	Shared    bool // see RestoreRequest
	Confirm   ConfirmRemoval
}

// Revert makes the files of a working copy exactly those after an attempt. It works as Restore does for a frame,
// and also appends the events RevertStarted and RevertFinished. If the attempt's task has its own worktree, Revert
// restores the files in that worktree. If req.DryRun is true, Revert only returns the changes: it changes no file
// and appends nothing. Codes: those of Restore, and attempt_not_found.
func Revert(ctx context.Context, s *timeline.Store, req RevertRequest) (*RestoreResult, error) {
	head, frame, err := s.OpenToChange(ctx, req.Run)
	if err != nil {
		return nil, err
	}
	run := head.Row().ID
	name := AttemptName{req.Node, req.Iteration, req.Attempt}
	if frame != nil { // attempt 0 then means the newest attempt as of the frame, not as of the tip
		then, err := FindAttempt(frame.Entry, name)
		if err != nil {
			return nil, err
		}
		name.Attempt = then.Attempt
	}
	attempt, err := FindAttempt(head.Entry(), name)
	if err != nil {
		return nil, err
	}
	key := snapshot.AttemptKey(attempt.NodeID, attempt.Iteration, attempt.Attempt)
	if attempt.Tree.IsZero() {
		return nil, fault.New(fault.NoCode, "no files were captured after attempt %s of run %q: the attempt is %s", key, run, attempt.State).
			Hint("`git smithers show %s --attempts` lists the other attempts", fault.Word(run))
	}
	at, vcs, err := attemptCode(s, head, attempt)
	if err != nil {
		return nil, err
	}
	files, err := WorktreeFiles(ctx, s, head, timeline.Address{Run: run, Frame: at.Frame}, attempt.Worktree)
	if err != nil {
		return nil, err
	}
	r := &restoreRun{
		store: s, head: head, subject: "working copy reverted to after " + key,
		op: snapshot.Op{
			Kind: snapshot.OpRevert, NodeID: attempt.NodeID, Iteration: attempt.Iteration, Attempt: attempt.Attempt,
			Worktree: attempt.Worktree,
		},
	}
	r.setConfirm(req.Confirm, req.DryRun)
	if !req.DryRun && !req.Shared && attempt.Worktree == "" {
		made, err := s.At(ctx, at)
		if err != nil {
			return nil, err
		}
		if r.shared, err = SharedWith(ctx, s, made.Entry); err != nil {
			return nil, err
		}
	}
	r.started = func() snapshot.Event { return revertEvent(s, "RevertStarted", run, attempt, vcs, nil) }
	r.finished = func(cause error) snapshot.Event {
		return revertEvent(s, "RevertFinished", run, attempt, vcs, &revertOutcome{cause})
	}
	return r.do(ctx, files, &RestoreResult{From: at, VCS: vcs, Attempt: attempt.Attempt, Beside: attempt.Beside}, req.DryRun)
}

// AttemptName names an attempt of a node. Attempt 0 means the newest attempt of the iteration.
type AttemptName struct {
	Node               string
	Iteration, Attempt int
}

// FindAttempt returns one of the run's attempts at an entry. name has the node, the iteration and the number of the
// attempt; the number 0 means the newest attempt of the node and the iteration. Code: attempt_not_found. The hint of
// this error lists up to ten attempts of the node. If the node has none, the hint names the command that lists the
// attempts.
func FindAttempt(entry *snapshot.Entry, name AttemptName) (snapshot.Attempt, error) {
	var found snapshot.Attempt
	var others []string
	for a, err := range entry.AllAttempts() {
		if err != nil {
			return found, timeline.Explain(err)
		}
		if a.NodeID != name.Node {
			continue
		}
		others = append(others, snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt))
		if a.Iteration != name.Iteration {
			continue
		}
		if a.Attempt == name.Attempt || name.Attempt == 0 && a.Attempt > found.Attempt {
			found = a
		}
	}
	if found.Attempt == 0 {
		return found, attemptNotFound(entry.Run, name, others)
	}
	return found, nil
}

// attemptNotFound returns the error attempt_not_found for an attempt of a run. others has the keys of all attempts
// of the node, in any order; attemptNotFound sorts it. A hint lists the first ten keys.
func attemptNotFound(run string, name AttemptName, others []string) error {
	const shown = 10
	what := "no attempt"
	if name.Attempt != 0 {
		what += " " + strconv.Itoa(name.Attempt)
	}
	out := fault.New(fault.AttemptNotFound, "node %q of run %q has %s in iteration %d", name.Node, run, what, name.Iteration).
		Detail("runId", run).Detail("nodeId", name.Node).Detail("iteration", name.Iteration)
	if len(others) == 0 {
		return out.Hint("`git smithers show %s --attempts` lists the attempts", fault.Word(run))
	}
	slices.Sort(others)
	list := strings.Join(others[:min(shown, len(others))], ", ")
	if len(others) > shown {
		list += ", …"
	}
	return out.Hint("choose one of the node's attempts: %s", list)
}

// attemptCode returns the frame at which the files of an attempt were captured, and the frame's record of these
// files. If the attempt was made before a fork, the frame belongs to an ancestor of the run. If no frame has the
// files, attemptCode returns the address of the run's newest frame and a record with the attempt's own values.
func attemptCode(s *timeline.Store, head *timeline.Head, attempt snapshot.Attempt) (timeline.Address, *snapshot.VCS, error) {
	at := timeline.Address{Run: head.Row().ID, Frame: head.Row().Frame}
	if attempt.Frame == nil {
		return at, attemptVCS(attempt), nil
	}
	tip, row := head.Entry(), head.Row()
	// Look in the run first and then in its ancestors, since the attempt may be older than a fork.
	for {
		frame, err := s.FrameInChain(row, tip, *attempt.Frame)
		if err != nil && fault.CodeOf(err) != fault.FrameNotFound {
			return at, nil, err
		}
		if err == nil {
			all, err := frame.VCSRevision()
			if err != nil {
				return at, nil, timeline.Explain(err)
			}
			if vcs := WorktreeOf(all, attempt.Worktree); vcs != nil && vcs.Tree == attempt.Tree {
				return timeline.Address{Run: row.ID, Frame: *attempt.Frame}, vcs, nil
			}
		}
		if row.Parent == nil {
			return at, attemptVCS(attempt), nil
		}
		if tip, err = snapshot.ReadEntry(s.Objects(), row.Parent.Commit); err != nil {
			return at, nil, timeline.Explain(err)
		}
		if row, err = tip.RunRow(); err != nil {
			return at, nil, timeline.Explain(err)
		}
	}
}

// attemptVCS returns a record of the files of an attempt that no frame has. The record has only values of the
// attempt itself, and the type git.
func attemptVCS(attempt snapshot.Attempt) *snapshot.VCS {
	return &snapshot.VCS{Type: snapshot.VCSGit, CommitID: attempt.CommitID, Tree: attempt.Tree, Attempts: attempt.Beside}
}

// revertOutcome is the result of a revert that has ended. err is nil if the revert succeeded.
type revertOutcome struct{ err error }

// revertEvent returns an event about the revert of a run to the files of an attempt, with the members of Smithers'
// event of the same type. kind is the type of the event. vcs is the record of the files. outcome is the result of
// the revert, or nil for the event of the start.
func revertEvent(s *timeline.Store, kind, run string, attempt snapshot.Attempt, vcs *snapshot.VCS, outcome *revertOutcome) snapshot.Event {
	payload := struct {
		Run       string `json:"runId"`
		Node      string `json:"nodeId"`
		Iteration int    `json:"iteration"`
		Attempt   int    `json:"attempt"`
		JJPointer string `json:"jjPointer,omitempty"`
		Pointer   string `json:"vcsPointer"`
		Tree      string `json:"treeId"`
		Success   *bool  `json:"success,omitempty"`
		Error     string `json:"error,omitempty"`
	}{
		Run: run, Node: attempt.NodeID, Iteration: attempt.Iteration, Attempt: attempt.Attempt,
		Pointer: attempt.CommitID, Tree: attempt.Tree.String(),
	}
	if vcs.Type == snapshot.VCSJJ {
		payload.JJPointer = attempt.CommitID
	}
	if outcome != nil {
		payload.Success = new(outcome.err == nil)
		if outcome.err != nil {
			payload.Error = string(fault.CodeOf(outcome.err)) // an error's message may name this machine
		}
	}
	data, err := json.Marshal(payload)
	if err != nil {
		data = nil // does not happen: a struct of texts and numbers always encodes
	}
	return snapshot.Event{Type: kind, AtMs: s.Now().UnixMilli(), Payload: data}
}
