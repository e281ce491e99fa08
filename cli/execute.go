package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// execute has somebody agree to what is left of a run, claims the run, runs it, tells how it
// goes, and reports how it ended. finish turns the run's row into what --json prints.
func (s *session) execute(ctx context.Context, store *timeline.Store, head *timeline.Head, wf *engine.Workflow, ask consenter,
	settings engineSettings, finish func(runResult) any,
) error {
	started := s.Now()
	opts, err := s.engineOptions(store, head, settings)
	if err == nil {
		err = settings.back.check(ctx, head, wf, opts)
	}
	if err != nil {
		return err
	}
	agreed, claim, err := claimIfLeft(ctx, store, head, wf, ask, opts, timeline.ClaimRequest{Force: settings.force})
	left := claim != nil
	if settings.resumes && err == nil {
		s.note("run %s, from frame %d%s", plain(head.Row().ID), head.Row().Frame, s.inOwnWorktree(store, head))
	}
	if left {
		view, end := s.viewRun(ctx, wf)
		if view != nil {
			opts.Progress = view.tell
		}
		err = s.executeClaimed(ctx, head, agreed, claim, opts)
		end()
	}
	if code := fault.CodeOf(err); err != nil && code != fault.RunFailed && code != fault.RunCancelled && code != fault.RunWaiting {
		return err
	}
	doc, describeErr := describeRun(head, s.Now())
	if describeErr != nil {
		return errors.Join(err, describeErr)
	}
	if !left && err == nil {
		s.note("run %s was finished already", plain(doc.RunID))
	} else if err == nil {
		s.note("run %s finished at frame %d after %s", plain(doc.RunID), doc.Frame, duration(s.Now().Sub(started)))
	}
	return errors.Join(err, s.printRun(doc, finish))
}

// maxClaims is how often in a row a run is claimed anew because others append to it: a signal
// that arrives meanwhile is no reason to leave the run alone.
const maxClaims = 32

// claimIfLeft claims a run of which there is something left to do, once somebody agreed to its
// commands. The claim is nil if nothing is left. The consent comes before the claim, which writes.
func claimIfLeft(ctx context.Context, store *timeline.Store, head *timeline.Head, wf *engine.Workflow, ask consenter,
	opts engine.Options, req timeline.ClaimRequest,
) (agreed timeline.Consented, _ *timeline.Claim, _ error) {
	for try := 1; ; try++ {
		left, err := engine.Check(head, wf, opts)
		if err == nil && left && try == 1 {
			agreed, err = agree(store, head, wf, ask, opts)
		}
		if err != nil || !left {
			return agreed, nil, err
		}
		claim, err := head.Claim(ctx, req)
		if err == nil {
			return agreed, claim, nil
		}
		if fault.CodeOf(err) != fault.Conflict || try == maxClaims {
			return agreed, nil, err
		}
		if err := head.Refresh(ctx); err != nil {
			return agreed, nil, err
		}
	}
}

// executeClaimed runs what is left of a run as its owner. A run of which nothing came of
// that is as it was.
func (s *session) executeClaimed(ctx context.Context, head *timeline.Head, agreed timeline.Consented,
	claim *timeline.Claim, opts engine.Options,
) error {
	opts.Lost = claim.Lost()
	_, err := engine.Run(ctx, head, agreed, opts)
	if released := claim.Release(context.WithoutCancel(ctx)); released != nil {
		s.warn(fmt.Errorf("the run is not given back: %w", released))
	}
	return err
}

// engineOptions say how to run a run.
func (s *session) engineOptions(store *timeline.Store, head *timeline.Head, settings engineSettings) (engine.Options, error) {
	files := settings.files
	if files == nil {
		files = store.WorkingCopy()
	}
	run := head.Row().ID
	opts := engine.Options{
		Now: s.Now, WorkDir: s.workDir(store), Env: s.taskEnv(), MaxParallel: settings.maxParallel,
		AcceptWorkflowChange: settings.acceptChange, WorkingCopy: files, Captured: settings.captured,
		Hurry: s.hurry, Warn: s.warn, Wait: settings.wait, Input: settings.input, Logs: store.LiveLogs(run),
		Commands: store.Commands(run),
		Progress: s.tellFrame, BringFiles: settings.bringFiles,
		WorkflowFile: s.workflowFileToType(store, head.Row(), settings.file),
	}
	if files.Root() != "" {
		opts.Worktree = s.worktrees(store, run, settings)
	}
	if settings.back != nil {
		opts.Before = settings.back.bring
	}
	if settings.files == nil && !settings.captured { // one of a new run's own is what its workflow asks for
		own, err := timeline.OwnWorktreeOf(store, head)
		if err != nil {
			return opts, err
		}
		opts.OwnWorktree = own != nil && own.Replay
	}
	if settings.logs {
		opts.Log = logWriter{s}
	}
	return opts, nil
}

// tellFrame is a line for every frame.
func (s *session) tellFrame(p engine.Progress) {
	waiting := ""
	if p.Waiting > 0 {
		waiting = fmt.Sprintf(", %d waiting", p.Waiting)
	}
	s.note("  frame %d  %s  (%d of %d done%s)", p.Frame, plain(p.Subject), p.Finished+p.Skipped, p.Nodes, waiting)
}

// printRun prints how a run ended. That nobody reads it changes nothing.
func (s *session) printRun(doc runResult, finish func(runResult) any) error {
	var err error
	switch {
	case s.json:
		err = s.writeJSON(finish(doc))
	case s.outTTY && s.talksToPerson(): // who has read it above
	default:
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
	file         string // the workflow file that the command line names; "" for none
	acceptChange bool
	logs         bool
	wait         bool                  // stay while the run waits
	force        bool                  // take the run over from a live owner
	yes          bool                  // run commands that are new to this clone
	input        json.RawMessage       // laid over the run's; nil: nothing
	files        *timeline.WorkingCopy // nil: those in which the command was called
	captured     bool                  // the run's tip has the files as they are
	resumes      bool                  // tell from which frame the run goes on
	baseFiles    bool                  // worktrees that are made have the files of their base, not those of the frame
	bringFiles   string                // see engine.Options
	back         *filesBack            // brings the files of the newest frame back first; nil: they are as they are
}

// runResult is what run, resume and replay print with --json.
type runResult struct {
	Kind         string           `json:"kind"`
	RunID        string           `json:"runId"`
	WorkflowName string           `json:"workflowName"`
	Status       string           `json:"status"`
	Frame        int64            `json:"frame"`
	Tip          string           `json:"tip"`
	ContentHash  string           `json:"contentHash"`
	Error        *string          `json:"error"`
	Waiting      []engine.Waiting `json:"waiting"`
	StartedAtMs  *int64           `json:"startedAtMs"`
	FinishedAtMs *int64           `json:"finishedAtMs"`
}

func describeRun(head *timeline.Head, now time.Time) (runResult, error) {
	row, entry := head.Row(), head.Entry()
	doc := runResult{
		Kind: "result", RunID: row.ID, WorkflowName: row.Workflow, Status: string(row.Status), Frame: row.Frame,
		Tip: entry.ID.String(), ContentHash: entry.ContentHash.String(),
		Waiting: []engine.Waiting{}, StartedAtMs: row.StartedAtMs, FinishedAtMs: row.FinishedAtMs,
	}
	if row.Error != "" {
		doc.Error = &row.Error
	}
	if row.Status.Waiting() {
		waits, err := engine.WaitsOf(head, now)
		if err != nil {
			return doc, err
		}
		doc.Waiting = append(doc.Waiting, waits...)
	}
	return doc, nil
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
