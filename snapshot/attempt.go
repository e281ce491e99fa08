package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// The states of an attempt.
const (
	AttemptInProgress = "in-progress"
	AttemptFinished   = "finished"
	AttemptFailed     = "failed"
	AttemptCancelled  = "cancelled"
)

// Attempt is one execution of a node, kept in the journal.
type Attempt struct {
	NodeID       string `json:"nodeId"`
	Iteration    int    `json:"iteration"`
	Attempt      int    `json:"attempt"` // from 1
	State        string `json:"state"`   // in-progress, finished, failed, cancelled, or a waiting NodeState
	StartedAtMs  int64  `json:"startedAtMs"`
	FinishedAtMs *int64 `json:"finishedAtMs"`
	ExitStatus   *int   `json:"exitStatus"`
	Error        string `json:"error,omitempty"` // code: reason

	// The attempt's pointer: the working copy as it was when the attempt ended. CommitID
	// is jj's commit or git's HEAD, Tree the exact files, Frame the frame of the run at
	// which they were captured, Worktree the name of the task's own worktree, Beside
	// the keys of other attempts that shared the files and were running then.
	CommitID string      `json:"commitId,omitempty"`
	Tree     objstore.ID `json:"treeId,omitzero"`
	Frame    *int64      `json:"frame,omitempty"`
	Worktree string      `json:"worktree,omitempty"`
	Beside   []string    `json:"beside,omitempty"`
}

// AttemptKey is the key of an attempt's and of its log's row: "nodeId::iteration::attempt".
func AttemptKey(nodeID string, iteration, attempt int) string {
	return Key(nodeID, iteration) + keySeparator + strconv.Itoa(attempt)
}

// SplitAttemptKey is the inverse of AttemptKey. Its error wraps ErrInvalid.
func SplitAttemptKey(key string) (nodeID string, iteration, attempt int, err error) {
	node, number, found := cutLast(key, keySeparator)
	attempt, ok := parseOrdinal(number)
	if !found || !ok || attempt < 1 {
		return "", 0, 0, invalid("key %q: not nodeId::iteration::attempt", key)
	}
	if nodeID, iteration, err = SplitKey(node); err != nil {
		return "", 0, 0, invalid("key %q: not nodeId::iteration::attempt", key)
	}
	return nodeID, iteration, attempt, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// EncodeAttempt is the row of an attempt in the collection "attempts".
func EncodeAttempt(a Attempt) page.Row {
	return page.Row{Key: AttemptKey(a.NodeID, a.Iteration, a.Attempt), Value: appendAttempt(nil, a)}
}

// DecodeAttempt reads the row of an attempt. Bytes that EncodeAttempt would not
// have written are objstore.ErrCorrupt.
func DecodeAttempt(row page.Row) (Attempt, error) {
	a, err := decodeAttempt(row)
	if err != nil {
		return Attempt{}, corrupt(objstore.ID{}, "attempt %q: %v", row.Key, err)
	}
	return a, nil
}

func decodeAttempt(row page.Row) (a Attempt, err error) {
	if a.NodeID, a.Iteration, a.Attempt, err = SplitAttemptKey(row.Key); err != nil {
		return Attempt{}, err
	}
	m := metadata{rest: row.Value}
	if m.optional("beside") {
		a.Beside = m.strs()
	}
	a.CommitID, a.Error = m.optionalStr("commitId"), m.optionalStr("error")
	m.name("exitStatus")
	a.ExitStatus = nullable(&m, func() int { return int(m.int()) })
	m.name("finishedAtMs")
	a.FinishedAtMs = nullable(&m, m.int)
	if m.optional("frame") {
		a.Frame = new(m.int())
	}
	m.name("startedAtMs")
	a.StartedAtMs = m.int()
	m.name("state")
	a.State = m.str()
	a.Tree, a.Worktree = m.optionalID("treeId"), m.optionalStr("worktree")
	m.close()
	if !m.done("") || !bytes.Equal(appendAttempt(nil, a), row.Value) {
		return Attempt{}, errNotCanonical
	}
	if err := a.check(); err != nil {
		return Attempt{}, err
	}
	return a, nil
}

func appendAttempt(b []byte, a Attempt) []byte {
	b = append(b, '{')
	if len(a.Beside) > 0 {
		b = appendArray(b, "beside", a.Beside, page.AppendString)
	}
	b = appendOptional(b, "commitId", a.CommitID)
	b = appendOptional(b, "error", a.Error)
	b = appendNullable(b, "exitStatus", a.ExitStatus, appendInt)
	b = appendNullable(b, "finishedAtMs", a.FinishedAtMs, appendInt64)
	if a.Frame != nil {
		b = appendIntMember(b, "frame", *a.Frame)
	}
	b = appendIntMember(b, "startedAtMs", a.StartedAtMs)
	b = appendStringMember(b, "state", a.State)
	b = appendOptionalID(b, "treeId", a.Tree)
	b = appendOptional(b, "worktree", a.Worktree)
	return append(b, '}')
}

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
	case !isTime(a.StartedAtMs) || a.FinishedAtMs != nil && !isTime(*a.FinishedAtMs):
		return errors.New("startedAtMs or finishedAtMs: out of range")
	case a.ExitStatus != nil && (*a.ExitStatus > maxInteger || *a.ExitStatus < -maxInteger):
		return errors.New("exitStatus: out of range")
	}
	return a.checkPointer()
}

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
		return errors.New("commitId: not lower-case letters and digits")
	case a.Frame != nil && (*a.Frame < 0 || *a.Frame > maxInteger):
		return errors.New("frame: out of range")
	}
	return nil
}

// isTime tells whether ms can be a time: milliseconds since 1970.
func isTime(ms int64) bool { return ms >= 0 && ms <= maxInteger }

// EncodeLog is the row of an attempt's log in the collection "logs": its text as
// one JSON string. Bytes that are not UTF-8 become U+FFFD.
func EncodeLog(nodeID string, iteration, attempt int, text string) page.Row {
	return page.Row{
		Key:   AttemptKey(nodeID, iteration, attempt),
		Value: page.AppendString(nil, strings.ToValidUTF8(text, "\uFFFD")),
	}
}

// DecodeLog reads the text of a log's row.
func DecodeLog(row page.Row) (string, error) {
	var text string
	err := json.Unmarshal(row.Value, &text)
	if err == nil {
		_, _, _, err = SplitAttemptKey(row.Key)
	}
	if err != nil || !bytes.Equal(page.AppendString(nil, text), row.Value) {
		return "", corrupt(objstore.ID{}, "log %q: %v", row.Key, errors.Join(err, errNotCanonical))
	}
	return text, nil
}

// parseAttempt reads an attempt as engines write it.
func parseAttempt(key string, value json.RawMessage) (a Attempt, err error) {
	if a.NodeID, a.Iteration, a.Attempt, err = SplitAttemptKey(key); err != nil {
		return Attempt{}, err
	}
	of := a
	err = eachMember(value, func(name string, value json.RawMessage) error {
		switch name {
		case "nodeId":
			return field(value, &a.NodeID)
		case "iteration":
			return field(value, &a.Iteration)
		case "attempt":
			return field(value, &a.Attempt)
		case "state":
			return field(value, &a.State)
		case "startedAtMs":
			return field(value, &a.StartedAtMs)
		case "finishedAtMs":
			return field(value, &a.FinishedAtMs)
		case "exitStatus":
			return field(value, &a.ExitStatus)
		case "error":
			return field(value, &a.Error)
		}
		return a.pointerField(name, value)
	})
	if err == nil && (a.NodeID != of.NodeID || a.Iteration != of.Iteration || a.Attempt != of.Attempt) {
		err = errors.New("nodeId, iteration or attempt: not that of the key")
	}
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return Attempt{}, fmt.Errorf("attempt %q: %w", key, err)
	}
	return a, nil
}

// pointerField reads a member of the attempt's pointer.
func (a *Attempt) pointerField(name string, value json.RawMessage) error {
	switch name {
	case "commitId":
		return field(value, &a.CommitID)
	case "treeId":
		return field(value, &a.Tree)
	case "frame":
		return field(value, &a.Frame)
	case "worktree":
		return field(value, &a.Worktree)
	case "beside":
		return field(value, &a.Beside)
	}
	return errUnknownField
}
