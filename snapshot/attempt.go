package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// The states of an attempt.
const (
	AttemptInProgress = "in-progress"
	AttemptFinished   = "finished"
	AttemptFailed     = "failed"
	AttemptCancelled  = "cancelled"
)

// CachedElsewhere is the CachedFrom of an attempt whose result is from another engine's cache.
const CachedElsewhere = "another engine"

// Attempt is one execution of a node at one iteration. The journal keeps all attempts of a run.
type Attempt struct {
	NodeID       string `json:"nodeId"`
	Iteration    int    `json:"iteration"`
	Attempt      int    `json:"attempt"` // 1, 2, 3, …
	State        string `json:"state"`   // in-progress, finished, failed, cancelled, or a waiting NodeState
	StartedAtMs  int64  `json:"startedAtMs"`
	FinishedAtMs *int64 `json:"finishedAtMs"`         // nil while the attempt runs or waits
	ExitStatus   *int   `json:"exitStatus"`           // the exit status of the attempt's process; nil if unknown
	CachedFrom   string `json:"cachedFrom,omitempty"` // the address of the frame whose result the attempt took; "" if it ran
	Sandbox      string `json:"sandbox,omitempty"`    // what the command's sandbox allowed, for people; "" without a sandbox
	Child        string `json:"child,omitempty"`      // the id of the run of the workflow that the attempt called; "" if it called none
	Error        string `json:"error,omitempty"`      // "code: reason"; "" if the attempt neither failed nor was cancelled

	// The attempt's pointer: the working copy as it was when the attempt ended. CommitID is jj's commit or git's
	// HEAD. Tree is the git tree of the exact files. Frame is the frame of the run at which the files were captured.
	// Worktree is the name of the task's own worktree. Beside lists the keys of other attempts that shared the files
	// and were running at the same time. A field is zero if the value was not captured.
	CommitID string      `json:"commitId,omitempty"`
	Tree     objstore.ID `json:"treeId,omitzero"`
	Frame    *int64      `json:"frame,omitempty"`
	Worktree string      `json:"worktree,omitempty"`
	Beside   []string    `json:"beside,omitempty"`

	// Carried has the members of the row that this version does not know. They are written back with the row.
	Carried row.CarriedMembers `json:"-"`
}

// attemptKind declares the rows of the collection "attempts".
var attemptKind = row.Kind[Attempt]{
	Name: "attempt",
	Key: row.Key[Attempt]{
		Of: func(a *Attempt) string { return AttemptKey(a.NodeID, a.Iteration, a.Attempt) },
		Split: func(a *Attempt, key string) (err error) {
			a.NodeID, a.Iteration, a.Attempt, err = SplitAttemptKey(key)
			return err
		},
		Fields: []row.Field[Attempt]{
			row.Text("nodeId", func(a *Attempt) *string { return &a.NodeID }),
			row.Int("iteration", func(a *Attempt) *int { return &a.Iteration }),
			row.Int("attempt", func(a *Attempt) *int { return &a.Attempt }),
		},
		Missing: func(*Attempt) error {
			_, _, _, err := SplitAttemptKey("")
			return err
		},
	},
	Fields: []row.Field[Attempt]{
		row.OptionalList("beside", func(a *Attempt) *[]string { return &a.Beside }),
		row.OptionalText("cachedFrom", func(a *Attempt) *string { return &a.CachedFrom }),
		row.OptionalText("child", func(a *Attempt) *string { return &a.Child }),
		row.OptionalText("commitId", func(a *Attempt) *string { return &a.CommitID }),
		row.OptionalText("error", func(a *Attempt) *string { return &a.Error }),
		row.NullInt("exitStatus", func(a *Attempt) **int { return &a.ExitStatus }),
		row.NullInt("finishedAtMs", func(a *Attempt) **int64 { return &a.FinishedAtMs }),
		row.OptionalInt("frame", func(a *Attempt) **int64 { return &a.Frame }),
		row.OptionalText("sandbox", func(a *Attempt) *string { return &a.Sandbox }),
		row.Int("startedAtMs", func(a *Attempt) *int64 { return &a.StartedAtMs }),
		row.Text("state", func(a *Attempt) *string { return &a.State }),
		row.OptionalID("treeId", func(a *Attempt) *objstore.ID { return &a.Tree }),
		row.OptionalText("worktree", func(a *Attempt) *string { return &a.Worktree }),
	},
	Carried: func(a *Attempt) *row.CarriedMembers { return &a.Carried },
	Check:   Attempt.check,
}

// EncodeAttempt returns the row of an attempt, without checking the attempt.
func EncodeAttempt(a Attempt) page.Row { return attemptKind.Encode(a) }

// DecodeAttempt decodes the row of an attempt. If EncodeAttempt would not have written the row, or the attempt
// is invalid, the error wraps objstore.ErrCorrupt.
func DecodeAttempt(r page.Row) (Attempt, error) { return attemptKind.Decode(r) }

// Attempt returns the attempt of a node with a number, and whether the entry's journal has it.
func (e *Entry) Attempt(node string, iteration, number int) (a Attempt, ok bool, err error) {
	attempts, err := e.Attempts()
	if err != nil {
		return a, false, err
	}
	key := AttemptKey(node, iteration, number)
	value, ok, err := attempts.Get(key)
	if err != nil || !ok {
		return a, false, err
	}
	a, err = DecodeAttempt(page.Row{Key: key, Value: value})
	return a, err == nil, err
}

// check returns an error if the attempt cannot be stored: the state is unknown, a number is out of range, the error
// is not UTF-8, or checkPointer returns an error.
func (a Attempt) check() error {
	switch a.State {
	case AttemptInProgress, AttemptFinished, AttemptFailed, AttemptCancelled:
	case string(NodeWaitingApproval), string(NodeWaitingHuman), string(NodeWaitingEvent), string(NodeWaitingTimer):
	default:
		return fmt.Errorf("state: unknown state %q, the states of an attempt are %s", a.State, oneOf([]string{
			AttemptInProgress, AttemptFinished, AttemptFailed, AttemptCancelled,
			string(NodeWaitingApproval), string(NodeWaitingHuman), string(NodeWaitingEvent), string(NodeWaitingTimer),
		}))
	}
	switch {
	case !utf8.ValidString(a.Error):
		return errors.New("error: not UTF-8")
	case !utf8.ValidString(a.CachedFrom):
		return errors.New("cachedFrom: not UTF-8")
	case !utf8.ValidString(a.Child):
		return errors.New("child: not UTF-8")
	case !utf8.ValidString(a.Sandbox):
		return errors.New("sandbox: not UTF-8")
	case !isTime(a.StartedAtMs) || a.FinishedAtMs != nil && !isTime(*a.FinishedAtMs):
		return errors.New("startedAtMs or finishedAtMs: out of range")
	case a.ExitStatus != nil && (*a.ExitStatus > row.MaxInteger || *a.ExitStatus < -row.MaxInteger):
		return errors.New("exitStatus: out of range")
	}
	return a.checkPointer()
}

// checkPointer returns an error if the attempt's pointer cannot be stored: CommitID, Frame, Worktree or Beside is
// invalid.
func (a Attempt) checkPointer() error {
	if err := checkAttemptKeys(a.Beside); err != nil {
		return fmt.Errorf("beside: %w", err)
	}
	if a.Worktree != "" {
		if err := checkWorktreeName(a.Worktree); err != nil {
			return fmt.Errorf("worktree: %w", err)
		}
	}
	switch {
	case !isRevision(a.CommitID):
		return fmt.Errorf("commitId: %w", revisionError(a.CommitID))
	case a.Frame != nil && (*a.Frame < 0 || *a.Frame > row.MaxInteger):
		return errors.New("frame: out of range")
	}
	return nil
}

// CalledRuns returns the ids of the runs that the attempts of an entry have called, each once, in the order of the attempts. If an
// attempt cannot be read, CalledRuns returns the runs before it, and an error.
func CalledRuns(e *Entry) ([]string, error) {
	var out []string
	for a, err := range e.AllAttempts() {
		if err != nil {
			return out, err
		}
		if a.Child != "" && !slices.Contains(out, a.Child) {
			out = append(out, a.Child)
		}
	}
	return out, nil
}
