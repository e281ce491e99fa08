package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/peer/smithers"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// engineSmithers is what --engine takes.
const engineSmithers = "smithers"

// foreignReplay is a replay that Smithers runs.
type foreignReplay struct {
	replayOptions
	db      string // "" for Smithers' own place
	command string // "" to look for it
}

// foreignFlags are the flags of replay for Smithers.
func foreignFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "engine", Usage: "run the fork with `ENGINE`: smithers"},
		&urfave.StringFlag{Name: "db", Usage: "the database of Smithers is `FILE`"},
		&urfave.StringFlag{Name: "engine-command", Usage: "start Smithers by the shell's `COMMAND`"},
	}
}

// parseForeign reads the flags of a replay that Smithers runs; nil for one that we run.
func parseForeign(c *urfave.Context, opts replayOptions) (*foreignReplay, error) {
	if !c.IsSet("engine") {
		for _, flag := range []string{"db", "engine-command"} {
			if c.IsSet(flag) {
				return nil, fault.New(fault.Usage, "--%s is about Smithers", flag).Hint("give --engine smithers, too")
			}
		}
		return nil, nil //nolint:nilnil // it is ours
	}
	if name := c.String("engine"); name != engineSmithers {
		return nil, fault.New(fault.Usage, "--engine does not take %q", name).
			Hint("it takes smithers; without it, a workflow file of git smithers is run")
	}
	if opts.workflow == "" {
		return nil, fault.New(fault.Usage, "--engine smithers needs a workflow of Smithers").
			Hint("name it: `%s replay WORKFLOW.tsx %s --engine smithers`", program, fault.Word(opts.from))
	}
	for _, flag := range []string{"max-parallel", "logs", "wait"} {
		if c.IsSet(flag) {
			return nil, fault.New(fault.Usage, "--%s does not go with --engine smithers", flag).
				Hint("Smithers runs the fork in its own way")
		}
	}
	return &foreignReplay{opts, c.String("db"), c.String("engine-command")}, nil
}

// runForeignReplay forks a frame, hands the fork to Smithers, and takes in what that made of it.
func runForeignReplay(ctx context.Context, s *session, store *timeline.Store, opts *foreignReplay) error {
	if err := s.needFile(opts.workflow); err != nil {
		return err
	}
	workflow := s.realPath(opts.workflow)
	e, err := s.findEngine(store, opts.command, workflow, realFolder(s.Dir))
	if err != nil {
		return err
	}
	at, err := store.Load(ctx, opts.from)
	if err != nil {
		return err
	}
	from, id := at.Address, timeline.NewRunID()
	var made *timeline.CheckedOut
	if opts.code {
		if made, err = s.checkOut(ctx, store, from.String(), id, opts.to); err != nil {
			return err
		}
		e.dir = s.sameFolderIn(store, made)
	}
	play := s.planPlay(id, workflow, e, opts)
	if err := errors.Join(e.check(ctx), smithers.CheckExport(ctx, play.db)); err != nil {
		return errors.Join(err, discard(ctx, made))
	}
	head, err := store.Fork(ctx, timeline.ForkRequest{
		From: from.String(), RunID: id, Nodes: opts.fork.nodes, NoDeps: opts.fork.noDeps, NamedOnly: opts.fork.namedOnly, Input: opts.fork.input,
		Label: opts.fork.label, Description: "Replay from " + from.String(), Replay: true, RestoreVCS: opts.code,
	})
	if err != nil {
		return errors.Join(err, discard(ctx, made))
	}
	s.note("run %s, forked from %s", plain(id), plain(from.String()))
	result, err := s.playForeign(ctx, store, play)
	if err != nil {
		return err
	}
	return s.finishForeign(ctx, store, describeFork(head), made, result)
}

// sameFolderIn is the folder of a new working copy in which Smithers is started: the one that this process is in here,
// or the top where it is not there.
func (s *session) sameFolderIn(store *timeline.Store, made *timeline.CheckedOut) string {
	top := realFolder(made.WorkingCopy.Root())
	below, err := filepath.Rel(realFolder(store.WorkingCopy().Root()), realFolder(s.Dir))
	if err != nil || !filepath.IsLocal(below) {
		return top
	}
	dir := filepath.Join(top, below)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		s.note("there is no folder %s in it: Smithers is started at its top", plain(filepath.ToSlash(below)))
		return top
	}
	return dir
}

// foreignPlay is what Smithers is to do with a fork.
type foreignPlay struct {
	id       string
	workflow string // its path
	engine   *smithersEngine
	db       string

	checkedOut bool // it has a working copy of its own
}

func (s *session) planPlay(id, workflow string, e *smithersEngine, opts *foreignReplay) foreignPlay {
	home, _ := s.lookupEnv("HOME")
	play := foreignPlay{id, workflow, e, e.database(home), opts.code}
	if opts.db != "" {
		play.db = s.realPath(opts.db)
	}
	return play
}

// again says how Smithers goes on with the fork once it is in the database.
func (p foreignPlay) again() string {
	return fmt.Sprintf("`%s` in %s goes on, and %s",
		p.engine.line("up", p.workflow, "--run-id", p.id, "--resume", "true"), p.engine.dir, p.takeIn())
}

// answer says how a fork that waits is answered, or what says so.
func (p foreignPlay) answer(status snapshot.RunStatus) string {
	if status == snapshot.RunWaitingApproval {
		return fmt.Sprintf("`%s` in %s, or `deny`, answers it", p.engine.line("approve", p.id), p.engine.dir)
	}
	return fmt.Sprintf("`%s` in %s says for what, and how it is answered", p.engine.line("why", p.id), p.engine.dir)
}

// takeIn says how what Smithers did comes here.
func (p foreignPlay) takeIn() string {
	return fmt.Sprintf("`%s` takes in what it does", commandLine(program, "import", p.db, "--run", p.id))
}

// away says how the fork is taken away again.
func (p foreignPlay) away() string {
	command := commandLine(program, "prune", p.id)
	if p.checkedOut {
		command = commandLine(program, "worktrees", "prune", p.id) + " && " + command
	}
	return fmt.Sprintf("`%s` takes the fork away here; Smithers' database keeps it", command)
}

// left is err where the fork stays, with how it goes on and how it is taken away.
func (p foreignPlay) left(s *session, err error, next string) error {
	if errors.Is(err, context.Canceled) {
		err = fault.New(fault.Interrupted, "%w", err)
	}
	e := *s.describe(err)
	e.Hints = slices.Clone(e.Hints)
	return e.Hint("the fork is there, as run %s: %s", p.id, next).Hint("%s", p.away())
}

// playForeign exports a run, has Smithers resume it, and imports it again. The result is how Smithers
// ended.
func (s *session) playForeign(ctx context.Context, store *timeline.Store, play foreignPlay) (foreignResult, error) {
	before, err := store.Head(ctx, play.id)
	if err != nil {
		return foreignResult{}, err
	}
	req := smithers.ExportRequest{Runs: []string{play.id}, To: play.db, Dir: play.engine.dir, Workflow: play.workflow}
	if _, err := s.export(ctx, store, req); err != nil {
		export := commandLine(program, "export", play.id, "--to", play.db, "--root", play.engine.dir, "--workflow", play.workflow)
		return foreignResult{}, play.left(s, err, fmt.Sprintf("`%s` hands it to Smithers; then %s", export, play.again()))
	}
	s.note("exported to %s", plain(play.db))
	status, err := play.engine.run(ctx, s, "up", play.workflow, "--run-id", play.id, "--resume", "true")
	if err != nil {
		return foreignResult{}, play.left(s, err, play.again())
	}
	ended := context.WithoutCancel(ctx)
	imported, err := smithers.Import(ended, store, play.db, smithers.ImportRequest{Runs: []string{play.id}, Files: true})
	if err != nil {
		return foreignResult{}, play.left(s, err, play.takeIn())
	}
	for _, run := range imported.Runs {
		if run.RunID == play.id {
			err = errors.Join(err, run.Err)
		}
	}
	after, missing := store.Head(ended, play.id) // a watch may have imported it before
	if err = errors.Join(err, missing); err != nil {
		return foreignResult{}, play.left(s, err, play.takeIn())
	}
	if ctx.Err() != nil {
		return foreignResult{}, play.left(s, ctx.Err(), play.again())
	}
	return foreignResult{play, status, after.Row().Frame > before.Row().Frame}, nil
}

// foreignResult is how Smithers ended.
type foreignResult struct {
	play   foreignPlay
	status int  // its exit status
	went   bool // whether it made a frame
}

// finishForeign prints what became of a run that Smithers ran.
func (s *session) finishForeign(ctx context.Context, store *timeline.Store, fork forkDocument, made *timeline.CheckedOut,
	result foreignResult,
) error {
	head, err := store.Head(ctx, fork.ForkedRunID)
	if err != nil {
		return err
	}
	doc, err := describeRun(head, s.Now())
	if err != nil {
		return err
	}
	return errors.Join(result.check(head.Row()), s.printRun(doc, func(r runResult) any {
		r.Kind = "replay"
		out := replayDocument{
			runResult: r, ForkedRunID: fork.ForkedRunID, ParentRunID: fork.ParentRunID, ParentFrame: fork.ParentFrame,
			BranchLabel: fork.BranchLabel, Started: result.went,
		}
		if made != nil {
			out.VCSRestored, out.Path, out.VCSPointer = true, new(made.WorkingCopy.Root()), new(made.VCS.Pointer())
		}
		return out
	}))
}

// mended says what to do where the workflow is why Smithers did not finish a run.
const mended = "with a workflow that is mended, replay again: Smithers resumes a run only with the one that it was exported with"

// check is nil where Smithers has finished the run.
func (r foreignResult) check(row snapshot.Run) error {
	switch {
	case !r.went:
		return fault.New(fault.EngineFailed, "Smithers did nothing with run %s and ended with status %d", row.ID, r.status).
			Hint("what it said is above").Hint("%s", r.play.again()).Hint(mended).Hint("%s", r.play.away()).
			Detail("status", r.status).Detail("runId", row.ID)
	case row.Status == snapshot.RunFinished:
		return nil
	case row.Status == snapshot.RunFailed:
		return fault.New(fault.RunFailed, "run %s failed: %s", row.ID, row.Error).Detail("runId", row.ID).
			Hint("%s", r.play.again()).Hint(mended)
	case row.Status == snapshot.RunCancelled:
		return fault.New(fault.RunCancelled, "run %s is cancelled at frame %d", row.ID, row.Frame).Detail("runId", row.ID).
			Hint("%s", r.play.again())
	case row.Status.Waiting():
		return fault.New(fault.RunWaiting, "run %s waits, as Smithers says: %s", row.ID, row.Status).
			Hint("%s", r.play.answer(row.Status)).Hint("%s", r.play.again()).Detail("runId", row.ID).Detail("frame", row.Frame)
	}
	return fault.New(fault.EngineFailed, "Smithers left run %s as %s and ended with status %d", row.ID, row.Status, r.status).
		Hint("%s", r.play.again()).Detail("status", r.status).Detail("runId", row.ID)
}
