package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// execute runs what is left of a run, tells how it goes, and reports how it ended.
// finish turns the run's row into what --json prints.
func (s *session) execute(ctx context.Context, store *timeline.Store, head *timeline.Head, wf *engine.Workflow,
	settings engineSettings, finish func(runResult) any,
) error {
	started := s.Now()
	files := settings.files
	if files == nil {
		files = store.WorkingCopy()
	}
	opts := engine.Options{
		Now: s.Now, WorkDir: s.workDir(store), Env: s.taskEnv(), MaxParallel: settings.maxParallel,
		AcceptWorkflowChange: settings.acceptChange, WorkingCopy: files, Captured: settings.captured,
		Hurry: s.hurry, Warn: s.warn,
		Progress: func(p engine.Progress) {
			s.note("  frame %d  %s  (%d of %d done)", p.Frame, plain(p.Subject), p.Finished+p.Skipped, p.Nodes)
		},
	}
	if files.Root() != "" {
		opts.Worktree = worktrees(store, head.Row().ID)
	}
	if settings.logs {
		opts.Log = logWriter{s}
	}
	result, err := engine.Run(ctx, head, wf, opts)
	if code := fault.CodeOf(err); err != nil && code != fault.RunFailed && code != fault.RunCancelled {
		return err
	}
	doc := describeRun(head)
	if result.Nothing {
		s.note("run %s was finished already", plain(doc.RunID))
	} else if err == nil {
		s.note("run %s finished at frame %d after %s", plain(doc.RunID), doc.Frame, duration(s.Now().Sub(started)))
	}
	return errors.Join(err, s.printRun(doc, finish))
}

// printRun prints how a run ended. That nobody reads it changes nothing.
func (s *session) printRun(doc runResult, finish func(runResult) any) error {
	var err error
	if s.json {
		err = s.writeJSON(finish(doc))
	} else {
		err = s.printf("%s\n", plain(doc.RunID))
	}
	if errors.Is(err, errOutputClosed) {
		return nil
	}
	return err
}

// engineSettings say how to run, and on which files.
type engineSettings struct {
	maxParallel  int
	acceptChange bool
	logs         bool
	files        *timeline.WorkingCopy // nil: those in which the command was called
	captured     bool                  // the run's tip has the files as they are
}

// worktrees makes the worktrees that a run asks for.
func worktrees(store *timeline.Store, run string) func(context.Context, timeline.WorktreeSpec, bool) (engine.WorkingCopy, error) {
	return func(ctx context.Context, spec timeline.WorktreeSpec, rebase bool) (engine.WorkingCopy, error) {
		opened, err := store.OpenWorktree(ctx, run, spec, rebase)
		if err != nil {
			return nil, err
		}
		return opened, nil
	}
}

// runResult is what run, resume and replay print with --json.
type runResult struct {
	Kind         string  `json:"kind"`
	RunID        string  `json:"runId"`
	WorkflowName string  `json:"workflowName"`
	Status       string  `json:"status"`
	Frame        int64   `json:"frame"`
	Tip          string  `json:"tip"`
	ContentHash  string  `json:"contentHash"`
	Error        *string `json:"error"`
	StartedAtMs  *int64  `json:"startedAtMs"`
	FinishedAtMs *int64  `json:"finishedAtMs"`
}

func describeRun(head *timeline.Head) runResult {
	row, entry := head.Row(), head.Entry()
	doc := runResult{
		Kind: "result", RunID: row.ID, WorkflowName: row.Workflow, Status: string(row.Status), Frame: row.Frame,
		Tip: entry.ID.String(), ContentHash: entry.ContentHash.String(),
		StartedAtMs: row.StartedAtMs, FinishedAtMs: row.FinishedAtMs,
	}
	if row.Error != "" {
		doc.Error = &row.Error
	}
	return doc
}

// taskEnv is the environment of tasks. They run in another folder than the command
// may have been called in, so the paths by which git names a repository are made
// absolute.
func (s *session) taskEnv() []string {
	paths := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE"}
	env := slices.Clone(s.Env)
	for i, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && slices.Contains(paths, name) {
			env[i] = name + "=" + s.path(value)
		}
	}
	return env
}

// logWriter passes the logs of tasks on to standard error, made safe to show.
type logWriter struct{ s *session }

// Write takes whole lines. It never fails: a log that nobody can read harms no run.
func (w logWriter) Write(p []byte) (int, error) {
	for _, line := range plainLines(string(p)) {
		w.s.talk("%s\n", line)
	}
	return len(p), nil
}
