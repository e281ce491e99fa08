package agent

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// SessionInfo is a session of a coding agent in a list.
type SessionInfo struct {
	list.RunInfo

	Agent string `json:"agent"`
	Turns int    `json:"turns"`
	*Name

	entry *snapshot.Entry // the newest one
	mem   *memory
}

// Holding returns the ids of the runs that have a conversation of a coding agent: sessions and forks of sessions, whatever they are called.
func Holding(ctx context.Context, s *timeline.Store) ([]string, error) {
	runs, err := list.Runs(ctx, s)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, run := range runs {
		if head, err := list.HeadOf(s, run); err == nil && IsSession(head.Entry()) {
			ids = append(ids, run.RunID)
		}
	}
	return ids, nil
}

// IsSession reports whether an entry has the data of a session of a coding agent: its run is a session, or a fork of one.
func IsSession(entry *snapshot.Entry) bool {
	engines, err := entry.ExtEngines()
	return err == nil && slices.Contains(engines, EngineName)
}

// Preview is what goes to others with a session.
type Preview struct {
	Agent  string
	Turns  int
	Calls  int    // of tools
	Lines  int    // of the conversation
	Prompt string // the first one
}

// PreviewOf returns what goes to others with the run run, and whether it has a conversation at all.
func PreviewOf(ctx context.Context, s *timeline.Store, run string) (*Preview, bool, error) {
	head, err := s.Head(ctx, run)
	if err != nil {
		return nil, false, err
	}
	entry := head.Entry()
	mem, err := memoryOf(entry)
	if err != nil {
		return nil, false, nil // not a session
	}
	out := &Preview{Agent: mem.Agent, Turns: mem.Turn}
	if out.Prompt, _, err = PromptOf(head.State(), 1); err != nil {
		return nil, true, err
	}
	for _, err := range entry.AllToolCalls() {
		if err != nil {
			return nil, true, timeline.Explain(err)
		}
		out.Calls++
	}
	rows, err := entry.Transcript()
	if err != nil {
		return nil, true, timeline.Explain(err)
	}
	for row, err := range rows.Rows() {
		if err != nil {
			return nil, true, timeline.Explain(err)
		}
		lines, err := snapshot.DecodeTranscript(row)
		if err != nil {
			return nil, true, timeline.Explain(err)
		}
		out.Lines += len(lines)
	}
	return out, true, nil
}

// NoteShared notes that the user has agreed to share a session with a remote; WasShared reports whether this was noted.
func NoteShared(s *timeline.Store, remote, run string) error {
	path := clonePath(s, "shared", remote+"\x00"+run)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return timeline.Explain(err)
	}
	return timeline.Explain(os.WriteFile(path, []byte(run), 0o600))
}

// WasShared reports whether NoteShared was called with the same arguments.
func WasShared(s *timeline.Store, remote, run string) bool {
	_, err := os.Stat(clonePath(s, "shared", remote+"\x00"+run))
	return err == nil
}

// IsLabelled reports whether a person has kept a moment of the session under a label, or the session as a fork.
func (i SessionInfo) IsLabelled() bool {
	return i.mem.Checkpoints > 0 || i.BranchLabel != nil && *i.BranchLabel != WhatIfLabel && *i.BranchLabel != ContinuedLabel
}

// EndIdle notes that a session has ended without a word of its agent. A later hook opens it again. Code: conflict if the session got an entry
// meanwhile.
func EndIdle(ctx context.Context, s *timeline.Store, run string) error {
	head, err := s.Head(ctx, run)
	if err != nil {
		return err
	}
	row := head.Row()
	if row.Status.Ended() {
		return nil
	}
	at := head.Entry().AtMs
	return head.Append(ctx, snapshot.Draft{Subject: "the session has ended: no hook for a day", Run: func(row *snapshot.Run) {
		row.Status, row.FinishedAtMs = snapshot.RunFinished, &at
	}})
}

// Sessions returns the sessions of coding agents in the repository, that with the newest frame first. A run that cannot be read is skipped:
// verify reports it.
func Sessions(ctx context.Context, s *timeline.Store) ([]SessionInfo, error) {
	runs, err := list.Runs(ctx, s)
	if err != nil {
		return nil, err
	}
	sessions := []SessionInfo{}
	for _, run := range runs {
		if info, ok := sessionOf(s, run); ok {
			sessions = append(sessions, info)
		}
	}
	slices.SortStableFunc(sessions, func(a, b SessionInfo) int { return cmp.Compare(b.UpdatedAtMs, a.UpdatedAtMs) })
	return sessions, nil
}

// sessionOf returns the session that a run is, and whether it is one. Its id says it, and its newest entry must have the memory of a
// session: a run of a workflow can have such an id, too.
func sessionOf(s *timeline.Store, run list.RunInfo) (SessionInfo, bool) {
	if !strings.HasPrefix(run.RunID, Run(run.WorkflowName, "")) {
		return SessionInfo{}, false
	}
	head, err := list.HeadOf(s, run)
	if err != nil {
		return SessionInfo{}, false
	}
	mem, err := memoryOf(head.Entry())
	if err != nil {
		return SessionInfo{}, false
	}
	name := cmp.Or(NameAt(head, nil), new(Name))
	return SessionInfo{RunInfo: run, Agent: mem.Agent, Turns: mem.Turn, Name: name, entry: head.Entry(), mem: mem}, true
}
