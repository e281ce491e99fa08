package courses

import (
	"context"
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/internal/back/land"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Continue makes a session that goes on with the conversation of a course in the working copy of the store, whose files stay as they are. The new session
// is a fork of the course, and the session from which the course was forked says in a frame where it goes on. address is that of the course's newest frame,
// or of an earlier one. Codes: those of WhatIf.Make; no_working_copy; restore_refused if the files here are neither those of the frame, nor those that a
// landing of it has made.
func Continue(ctx context.Context, s *timeline.Store, address string) (*agent.Course, error) {
	if s.Workspace().Root == "" {
		return nil, fault.New(fault.NoWorkingCopy, "the current folder is not in a working copy").Hint("call the command in the folder in which the agent is to go on")
	}
	at, err := s.Load(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := checkHere(ctx, s, at); err != nil {
		return nil, err
	}
	course, err := agent.WhatIf{From: at.Address.String(), Here: true, Env: s.Env()}.Make(ctx, s)
	if err != nil {
		return nil, err
	}
	head, err := s.Head(ctx, at.Address.Run)
	if err == nil && head.Row().Parent != nil {
		err = noteContinued(ctx, s, head.Row().Parent.RunID, course)
	}
	if err != nil { // the session is there, and only its parent does not know it
		s.Warn(err)
	}
	agent.NoteNewest(s, course.Run)
	return course, nil
}

// noteContinued adds a frame to a session that says where it goes on.
func noteContinued(ctx context.Context, s *timeline.Store, run string, course *agent.Course) error {
	head, err := s.Head(ctx, run)
	if code := fault.CodeOf(err); code == fault.RunNotFound || code == fault.RunPruned {
		return nil
	}
	if err != nil {
		return err
	}
	now := s.Now().UnixMilli()
	event := timeline.NewEvent("SessionContinued", now, struct {
		RunID string `json:"runId"`
		From  string `json:"fromRunId"`
	}{course.Run, course.From.Run})
	return head.Update(ctx, func() (*snapshot.Draft, error) {
		return &snapshot.Draft{
			Frame: &snapshot.FrameDraft{}, Events: []snapshot.Event{event}, AtMs: now, Subject: "goes on in " + course.Run + ", with what " + course.From.Run + " did",
		}, nil
	})
}

// checkHere returns restore_refused unless the files here are those of a frame, or a landing has brought them.
func checkHere(ctx context.Context, s *timeline.Store, at *timeline.LoadedEntry) (err error) {
	vcs, err := at.Entry.VCSRevision()
	if err != nil || vcs == nil || vcs.Tree.IsZero() {
		return timeline.Explain(err) // WhatIf says what is wrong
	}
	captured, err := files.WorkingCopyOf(s).OfSession().Capture(ctx)
	if err != nil || captured == nil {
		return timeline.Explain(err)
	}
	defer func() { err = errors.Join(err, captured.Close()) }()
	if captured.VCS.Tree == vcs.Tree || captured.VCS.Tree.IsZero() {
		return nil
	}
	landed, err := isLanded(ctx, s, at.Address)
	if err != nil || landed {
		return err
	}
	return differs(ctx, s, captured, vcs, at.Address)
}

// isLanded reports whether a landing has brought a frame into the working copy.
func isLanded(ctx context.Context, s *timeline.Store, at timeline.Address) (bool, error) {
	runs, err := list.Runs(ctx, s)
	if err != nil {
		return false, err
	}
	for _, run := range runs {
		if run.WorkflowName != land.Workflow {
			continue
		}
		if head, err := list.HeadOf(s, run); err == nil && land.Holds(s, head, at) {
			return true, nil
		}
	}
	return false, nil
}

// filesShown is how many files an error names.
const filesShown = 5

// differs returns the error for files here that differ from those of a frame.
func differs(ctx context.Context, s *timeline.Store, captured *jjbridge.CapturedFiles, vcs *snapshot.VCS, at timeline.Address) error {
	objects := s.Objects().Begin() // reads what was captured, and is never committed
	var changes []jjbridge.PathChange
	err := captured.Objects(objects)
	if err == nil {
		changes, err = files.ChangedFiles(ctx, objects, vcs.Tree, captured.VCS.Tree, "")
	}
	if err != nil {
		return timeline.Explain(err)
	}
	names := []string{}
	for _, change := range changes {
		names = append(names, snapshot.EscapePath(change.Path))
	}
	return fault.New(fault.RestoreRefused, "the files here are not those of %s, of which the conversation speaks: %s", at, strings.Join(names[:min(len(names), filesShown)], ", ")).
		Hint("nothing was changed; `%s land %s` merges what the course has changed, and then the conversation can follow", fault.Program, fault.Word(at.Run)).
		Hint("or `%s restore %s` makes the files here those of the course; it saves yours in a frame", fault.Program, fault.Word(at.Run)).
		Detail("runId", at.Run).Detail("files", names)
}
