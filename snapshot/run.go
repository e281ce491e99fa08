package snapshot

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// RunStatus is the status of a run.
type RunStatus string

// The statuses of a run.
const (
	RunRunning   RunStatus = "running"
	RunFinished  RunStatus = "finished"
	RunFailed    RunStatus = "failed"
	RunCancelled RunStatus = "cancelled"
	RunPending   RunStatus = "pending" // forked, or moved back to an earlier frame, and not yet resumed

	// The run waits for a person, a signal or a timer.
	RunWaitingApproval RunStatus = "waiting-approval"
	RunWaitingHuman    RunStatus = "waiting-human"
	RunWaitingEvent    RunStatus = "waiting-event"
	RunWaitingTimer    RunStatus = "waiting-timer"
)

// RunStatuses returns all statuses of a run. The caller may modify the slice.
func RunStatuses() []RunStatus {
	return []RunStatus{
		RunRunning, RunFinished, RunFailed, RunCancelled, RunPending,
		RunWaitingApproval, RunWaitingHuman, RunWaitingEvent, RunWaitingTimer,
	}
}

// Waiting reports whether the run waits for a person, a signal or a timer.
func (s RunStatus) Waiting() bool {
	switch s {
	case RunWaitingApproval, RunWaitingHuman, RunWaitingEvent, RunWaitingTimer:
		return true
	case RunRunning, RunFinished, RunFailed, RunCancelled, RunPending:
	}
	return false
}

// Ended reports whether the run has finished, has failed or was cancelled.
func (s RunStatus) Ended() bool {
	return s == RunFinished || s == RunFailed || s == RunCancelled
}

// Run is the run's row, which run.json contains.
type Run struct {
	ID           string    `json:"runId"`
	Workflow     string    `json:"workflowName"`
	WorkflowPath string    `json:"workflowPath,omitempty"` // relative to the repository's top
	WorkflowHash string    `json:"workflowHash,omitempty"`
	Status       RunStatus `json:"status"`
	Error        string    `json:"error,omitempty"`
	Frame        int64     `json:"frame"`           // the newest frame's number
	NextSeq      int64     `json:"nextSeq"`         // the Seq of the run's next event
	Epoch        int64     `json:"epoch"`           // how often the run was claimed
	Owner        string    `json:"owner,omitempty"` // the token of the current claim, 16 lower-case hex digits; "" if the run is not claimed
	Parent       *Parent   `json:"parent,omitempty"`
	Caller       *Caller   `json:"caller,omitempty"` // nil unless a task of another run called the workflow
	CreatedAtMs  int64     `json:"createdAtMs"`
	StartedAtMs  *int64    `json:"startedAtMs,omitempty"`
	FinishedAtMs *int64    `json:"finishedAtMs,omitempty"`

	// The working copy when the run was last started: VCSType is git or jj, VCSRoot is the VCS.Root, and VCSRevision
	// is the VCS.Pointer. All three are "" if there was no working copy.
	VCSType     string `json:"vcsType,omitempty"`
	VCSRoot     string `json:"vcsRoot,omitempty"`
	VCSRevision string `json:"vcsRevision,omitempty"`

	// TraceParent is the span of an OpenTelemetry trace from which the run was first started, as in Trace Context; "" if there was none.
	TraceParent string `json:"traceParent,omitempty"`

	// Secrets is the highest number of a placeholder for a secret that the run has, or 0.
	Secrets int `json:"secrets,omitempty"`
	// Marks says which secrets the run stores as they are: see Mark.String. Sorted.
	Marks []string `json:"marks,omitempty"`
}

// Parent identifies the frame from which a run was forked.
type Parent struct {
	RunID       string      `json:"runId"`
	Frame       int64       `json:"frame"`
	Commit      objstore.ID `json:"commit"` // the commit of that frame
	Label       string      `json:"label,omitempty"`
	Description string      `json:"description,omitempty"`
	AtMs        int64       `json:"createdAtMs"`      // when the run was forked, in milliseconds since 1970
	Undone      bool        `json:"undone,omitempty"` // the fork was undone before it ran

	// Extension, if not zero, is a later entry of the parent. The fork then begins with the parent's entries from
	// the frame up to this entry, and counts their frames from 0. If Extension is zero, the fork begins with the
	// frame alone.
	Extension objstore.ID `json:"extension,omitzero"`
}

// Caller identifies the task whose call made a run, and the first of the task's attempts that did.
type Caller struct {
	RunID     string `json:"runId"`
	NodeID    string `json:"nodeId"`
	Iteration int    `json:"iteration"`
	Attempt   int    `json:"attempt"`
}

// MaxRunID is the largest size of a run id in bytes.
const MaxRunID = 4096

// runFields declares the members of run.json. Frame and NextSeq are stored in the commit. So an entry that changes only
// these two fields keeps the run.json of the previous entry.
var runFields = []row.Field[Run]{
	row.Object("caller", func(r *Run) **Caller { return &r.Caller }, callerFields),
	row.Int("createdAtMs", func(r *Run) *int64 { return &r.CreatedAtMs }),
	row.Int("epoch", func(r *Run) *int64 { return &r.Epoch }),
	row.OptionalText("error", func(r *Run) *string { return &r.Error }),
	row.OptionalInt("finishedAtMs", func(r *Run) **int64 { return &r.FinishedAtMs }),
	row.OptionalList("marks", func(r *Run) *[]string { return &r.Marks }),
	row.OptionalText("owner", func(r *Run) *string { return &r.Owner }),
	row.Object("parent", func(r *Run) **Parent { return &r.Parent }, parentFields),
	row.Text("runId", func(r *Run) *string { return &r.ID }),
	row.Count("secrets", func(r *Run) *int { return &r.Secrets }),
	row.OptionalInt("startedAtMs", func(r *Run) **int64 { return &r.StartedAtMs }),
	row.Text("status", func(r *Run) *string { return (*string)(&r.Status) }),
	row.OptionalText("traceParent", func(r *Run) *string { return &r.TraceParent }),
	row.OptionalText("vcsRevision", func(r *Run) *string { return &r.VCSRevision }),
	row.OptionalText("vcsRoot", func(r *Run) *string { return &r.VCSRoot }),
	row.OptionalText("vcsType", func(r *Run) *string { return &r.VCSType }),
	row.OptionalText("workflowHash", func(r *Run) *string { return &r.WorkflowHash }),
	row.Text("workflowName", func(r *Run) *string { return &r.Workflow }),
	row.OptionalText("workflowPath", func(r *Run) *string { return &r.WorkflowPath }),
}

// callerFields declares the members of "caller" in run.json.
var callerFields = []row.Field[Caller]{
	row.Int("attempt", func(c *Caller) *int { return &c.Attempt }),
	row.Int("iteration", func(c *Caller) *int { return &c.Iteration }),
	row.Text("nodeId", func(c *Caller) *string { return &c.NodeID }),
	row.Text("runId", func(c *Caller) *string { return &c.RunID }),
}

// parentFields declares the members of "parent" in run.json.
var parentFields = []row.Field[Parent]{
	row.ID("commit", func(p *Parent) *objstore.ID { return &p.Commit }),
	row.Int("createdAtMs", func(p *Parent) *int64 { return &p.AtMs }),
	row.OptionalText("description", func(p *Parent) *string { return &p.Description }),
	row.OptionalID("extension", func(p *Parent) *objstore.ID { return &p.Extension }),
	row.Int("frame", func(p *Parent) *int64 { return &p.Frame }),
	row.OptionalText("label", func(p *Parent) *string { return &p.Label }),
	row.Text("runId", func(p *Parent) *string { return &p.RunID }),
	row.True("undone", func(p *Parent) *bool { return &p.Undone }),
}

// encodeRun returns the content of run.json.
func encodeRun(r Run) []byte { return row.Document(runFields, &r) }

// decodeRun decodes data, the content of run.json. id is the id of the file's blob, for errors. If data has an
// unknown member, the error wraps ErrNewerFormat. If encodeRun would not have written data, or the row cannot be
// stored, the error wraps objstore.ErrCorrupt.
func decodeRun(id objstore.ID, data []byte) (Run, error) {
	r, err := row.ReadDocument(runFields, data)
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return Run{}, unreadable(id, runName, err)
	}
	return *r, nil
}

// check returns an error if the run's row cannot be stored: the status is unknown, an id, a number, a text or a path
// is invalid, or the working copy is invalid. It does not check Frame and NextSeq, because the commit stores them.
func (r Run) check() error {
	switch r.Status {
	case RunRunning, RunFinished, RunFailed, RunCancelled, RunPending:
	case RunWaitingApproval, RunWaitingHuman, RunWaitingEvent, RunWaitingTimer:
	default:
		return fmt.Errorf("status: unknown status %q, the statuses are %s", r.Status, oneOf(RunStatuses()))
	}
	if err := checkRunID(r.ID); err != nil {
		return fmt.Errorf("runId: %w", err)
	}
	if !isOwner(r.Owner) {
		return errors.New("owner: not 16 lower-case hex digits")
	}
	if err := checkMarks(r.Marks); err != nil {
		return fmt.Errorf("marks: %w", err)
	}
	numbers := []int64{r.Epoch, r.CreatedAtMs}
	texts := []string{r.Workflow, r.WorkflowHash, r.WorkflowPath, r.Error, r.TraceParent}
	for _, at := range []*int64{r.StartedAtMs, r.FinishedAtMs} {
		if at != nil {
			numbers = append(numbers, *at)
		}
	}
	if c := r.Caller; c != nil {
		if err := checkRunID(c.RunID); err != nil {
			return fmt.Errorf("caller.runId: %w", err)
		}
		if c.NodeID == "" || !utf8.ValidString(c.NodeID) || c.Iteration < 0 || c.Attempt < 1 {
			return errors.New("caller: not the attempt of a node")
		}
	}
	if p := r.Parent; p != nil {
		if err := checkRunID(p.RunID); err != nil {
			return fmt.Errorf("parent.runId: %w", err)
		}
		if p.Commit.IsZero() {
			return errors.New("parent.commit: missing")
		}
		if p.Extension == p.Commit {
			return errors.New("parent.extension: the extension is the parent's frame itself")
		}
		numbers = append(numbers, p.Frame, p.AtMs)
		texts = append(texts, p.Label, p.Description)
	}
	for _, n := range numbers {
		if n < 0 || n > row.MaxInteger {
			return fmt.Errorf("number out of range: %d", n)
		}
	}
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return fmt.Errorf("text is not UTF-8: %q", s)
		}
	}
	if err := checkPath(r.WorkflowPath); err != nil {
		return err
	}
	return r.checkVCS()
}

// checkVCS returns an error if the row's working copy cannot be stored: the type is unknown, the root or the revision
// is invalid, or one of them is set without a type.
func (r Run) checkVCS() error {
	switch r.VCSType {
	case VCSGit, VCSJJ:
	case "":
		if r.VCSRoot != "" || r.VCSRevision != "" {
			return errors.New("vcsRoot or vcsRevision: set without vcsType")
		}
	default:
		return fmt.Errorf("vcsType: unknown type %q", r.VCSType)
	}
	if !isRevision(r.VCSRevision) {
		return fmt.Errorf("vcsRevision: %w", revisionError(r.VCSRevision))
	}
	if err := checkRoot(r.VCSRoot); err != nil {
		return fmt.Errorf("vcsRoot: %w", err)
	}
	return nil
}

// isOwner reports whether s is empty or has the form of the token of a claim on a run: 16 lower-case hex digits.
func isOwner(s string) bool {
	const size = 16
	return s == "" || len(s) == size && strings.Trim(s, hexDigits) == ""
}

// checkRunID returns an error if id cannot be the id of a run: if id is empty, longer than MaxRunID, or not UTF-8.
func checkRunID(id string) error {
	if id == "" || len(id) > MaxRunID || !utf8.ValidString(id) {
		return fmt.Errorf("%q is not a run id: a run id has 1 to %d bytes of UTF-8", id, MaxRunID)
	}
	return nil
}

// checkPath returns an error if p, the path of a workflow, is absolute on Unix or Windows, or has a colon after its
// first byte, as after a drive letter. A stored path must not depend on one machine.
func checkPath(p string) error {
	if path.IsAbs(p) || strings.HasPrefix(p, `\`) || len(p) > 1 && p[1] == ':' {
		return fmt.Errorf("workflowPath: absolute path %q", p)
	}
	return nil
}

// clone returns a copy of r. Changes of the copy do not affect r.
func (r Run) clone() Run {
	if r.Parent != nil {
		r.Parent = new(*r.Parent)
	}
	if r.Caller != nil {
		r.Caller = new(*r.Caller)
	}
	r.Marks = slices.Clone(r.Marks)
	if r.StartedAtMs != nil {
		r.StartedAtMs = new(*r.StartedAtMs)
	}
	if r.FinishedAtMs != nil {
		r.FinishedAtMs = new(*r.FinishedAtMs)
	}
	return r
}
