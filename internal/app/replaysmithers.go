package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// SmithersReplayRequest asks to fork a run at a frame, and to make Smithers execute the fork.
type SmithersReplayRequest struct {
	From     string // an address; the run may be a prefix
	RunID    string // the id of the fork; "" for a generated id
	Workflow string // the workflow file of Smithers
	Resets
	RestoreVCS bool   // run on the files of the frame, in a new working copy
	To         string // the folder of the new working copy; "" for a default folder
	Database   string // "" for the database that Smithers uses by default
	Command    string // the shell command that starts Smithers; "" for the configured or installed one
	Home       string // the home folder of the user: Smithers looks for projects only below it; "" for no limit
	FilesTrust
}

// SmithersReplayResult describes a fork that Smithers executed.
type SmithersReplayResult struct {
	ReplayResult
	Started bool // Smithers made a frame
}

// ReplayWithSmithers forks a frame, exports the fork to Smithers, makes Smithers resume it, and imports the result. If
// one of these steps fails or ctx ends, the result is nil. If the export, Smithers or the import fails, the hints of
// the error are commands that continue or remove the fork.
//
// If all steps succeed, the result is not nil. The error is then nil if the fork has finished; otherwise it is
// run_failed, run_cancelled, run_waiting or engine_failed.
func (d *Desk) ReplayWithSmithers(ctx context.Context, req SmithersReplayRequest) (*SmithersReplayResult, error) {
	if err := d.Folder.NeedFile(req.Workflow); err != nil {
		return nil, err
	}
	workflow := d.Folder.RealPath(req.Workflow)
	e, err := d.findEngine(req.Command, workflow, RealFolder(string(d.Folder)))
	if err != nil {
		return nil, err
	}
	at, err := d.Store.Load(ctx, req.From)
	if err != nil {
		return nil, err
	}
	check := &filesCheck{Desk: d, FilesTrust: req.FilesTrust, entry: at.Entry, brought: req.RestoreVCS}
	if err := check.agreeToFiles(nil); err != nil {
		return nil, err
	}
	id, err := newID(ctx, d.Store, req.RunID)
	if err != nil {
		return nil, err
	}
	var made *files.CheckoutResult
	if req.RestoreVCS {
		if made, err = d.checkOutFor(ctx, id, at.Address, req.To); err != nil {
			return nil, err
		}
		e.dir = d.sameFolderIn(ctx, made)
	}
	play := d.planPlay(id, workflow, e, req)
	if err := errors.Join(e.check(ctx), smithers.CheckExport(ctx, play.db)); err != nil {
		return nil, errors.Join(err, discard(ctx, made))
	}
	fork := req.forkOf(at.Address, id)
	fork.RestoreVCS = req.RestoreVCS
	if _, err := d.fork(ctx, fork); err != nil {
		return nil, errors.Join(err, discard(ctx, made))
	}
	d.Teller.Note(ctx, ForkedNote{id, at.Address})
	if made != nil {
		if _, err := d.Equip(ctx, made.WorkingCopy, files.Equipment{}); err != nil {
			return nil, errors.Join(err, made.Settle())
		}
	}
	end, err := d.playForeign(ctx, play)
	if err != nil {
		return nil, err
	}
	return d.finishForeign(ctx, made, end)
}

// sameFolderIn returns the folder in which Smithers starts. This folder has the same place in the new working copy made
// as the desk's folder has in its own working copy. If the new working copy has no such folder, sameFolderIn passes a
// note to the teller and returns the top of the working copy. It also returns the top if the desk's folder is outside
// of its working copy.
func (d *Desk) sameFolderIn(ctx context.Context, made *files.CheckoutResult) string {
	top := RealFolder(made.WorkingCopy.Root())
	below, err := filepath.Rel(RealFolder(files.WorkingCopyOf(d.Store).Root()), RealFolder(string(d.Folder)))
	if err != nil || !filepath.IsLocal(below) {
		return top
	}
	dir := filepath.Join(top, below)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		d.Teller.Note(ctx, FolderMissingNote{filepath.ToSlash(below)})
		return top
	}
	return dir
}

// foreignPlay is a fork for Smithers to run.
type foreignPlay struct {
	id       string // the id of the fork
	workflow string // the path of the workflow file
	engine   *smithersEngine
	db       string // the path of the database

	checkedOut bool // the fork has a working copy of its own
}

// planPlay returns the plan to run the fork with the given id in the engine e. workflow is the path of the workflow
// file. The plan has the database req.Database, or the database that Smithers uses by default if req.Database is "".
func (d *Desk) planPlay(id, workflow string, e *smithersEngine, req SmithersReplayRequest) foreignPlay {
	play := foreignPlay{id, workflow, e, e.database(req.Home), req.RestoreVCS}
	if req.Database != "" {
		play.db = d.Folder.RealPath(req.Database)
	}
	return play
}

// again returns a hint with two commands. With the first, Smithers continues the fork. The second imports the result.
// The fork must already be in the database of Smithers.
func (p foreignPlay) again() string {
	return fmt.Sprintf("`%s` in %s continues the run, and %s",
		p.engine.line("up", p.workflow, "--run-id", p.id, "--resume", "true"), p.engine.dir, p.takeIn())
}

// answer returns a hint for a fork that waits with the given status. If the fork waits for an approval, the hint has
// the command of Smithers that approves. For any other status, the hint has the command of Smithers that shows how to
// answer.
func (p foreignPlay) answer(status snapshot.RunStatus) string {
	if status == snapshot.RunWaitingApproval {
		return fmt.Sprintf("`%s` in %s, or `deny`, answers the request", p.engine.line("approve", p.id), p.engine.dir)
	}
	return fmt.Sprintf("`%s` in %s shows why the run waits and how to answer", p.engine.line("why", p.id), p.engine.dir)
}

// takeIn returns a hint with the command that imports the result of Smithers.
func (p foreignPlay) takeIn() string {
	return fmt.Sprintf("`%s` imports the result", fault.CommandLine(fault.Program, "import", p.db, "--run", p.id))
}

// away returns a hint with the commands that remove the fork from this repository. If the fork has a working copy of
// its own, the first command removes this working copy.
func (p foreignPlay) away() string {
	command := fault.CommandLine(fault.Program, "prune", p.id)
	if p.checkedOut {
		command = fault.CommandLine(fault.Program, "worktrees", "prune", p.id) + " && " + command
	}
	return fmt.Sprintf("`%s` removes the fork from this repository; Smithers' database keeps it", command)
}

// left returns err with two more hints. The first says that the fork was made, and ends with the text next, which says
// how to continue the fork. The second is the hint of away. If err wraps context.Canceled, the code of the result is
// interrupted.
func (p foreignPlay) left(err error, next string) error {
	if errors.Is(err, context.Canceled) {
		err = fault.New(fault.Interrupted, "%w", err)
	}
	e := *explained(err) // a copy, because err itself must not change
	e.Hints = slices.Clone(e.Hints)
	return e.Hint("the fork was made, as run %s: %s", p.id, next).Hint("%s", p.away())
}

// playForeign exports the fork of play to Smithers, makes Smithers resume it, imports the fork, and returns how
// Smithers ended. If ctx ends while Smithers runs, playForeign still imports the fork, but then returns the error
// interrupted. If a step fails, the hints of the error say how to continue with this step.
func (d *Desk) playForeign(ctx context.Context, play foreignPlay) (foreignEnd, error) {
	before, err := d.Store.Head(ctx, play.id)
	if err != nil {
		return foreignEnd{}, err
	}
	req := smithers.ExportRequest{Runs: []string{play.id}, To: play.db, Dir: play.engine.dir, Workflow: play.workflow}
	if _, err := d.Export(ctx, req); err != nil {
		export := fault.CommandLine(fault.Program, "export", play.id, "--to", play.db, "--root", play.engine.dir, "--workflow", play.workflow)
		return foreignEnd{}, play.left(err, fmt.Sprintf("`%s` exports the fork to Smithers; then %s", export, play.again()))
	}
	d.Teller.Note(ctx, ExportedNote{play.db})
	status, err := play.engine.run(ctx, d, "up", play.workflow, "--run-id", play.id, "--resume", "true")
	if err != nil {
		return foreignEnd{}, play.left(err, play.again())
	}
	ended := context.WithoutCancel(ctx) // the results of Smithers are imported even after Ctrl-C
	imported, err := smithers.Import(ended, d.Store, play.db, smithers.ImportRequest{Runs: []string{play.id}, Files: true})
	if err != nil {
		return foreignEnd{}, play.left(err, play.takeIn())
	}
	for _, run := range imported.Runs {
		if run.RunID == play.id {
			err = errors.Join(err, run.Err)
		}
	}
	// imported.Runs may lack the fork, because a `watch` has already imported it. So read the run's tip instead.
	after, missing := d.Store.Head(ended, play.id)
	if err = errors.Join(err, missing); err != nil {
		return foreignEnd{}, play.left(err, play.takeIn())
	}
	if ctx.Err() != nil {
		return foreignEnd{}, play.left(ctx.Err(), play.again())
	}
	return foreignEnd{play, status, after.Row().Frame > before.Row().Frame}, nil
}

// foreignEnd describes how Smithers ended.
type foreignEnd struct {
	play   foreignPlay
	status int  // the exit status of Smithers
	went   bool // Smithers made a frame
}

// finishForeign returns the result of a fork that Smithers executed. The fork must already be imported. made is the
// fork's working copy, or nil. end says how Smithers ended. If the run cannot be read, the result is nil. Otherwise the
// result is not nil, and the error is the one that end.check returns.
func (d *Desk) finishForeign(ctx context.Context, made *files.CheckoutResult, end foreignEnd) (*SmithersReplayResult, error) {
	head, err := d.Store.Head(ctx, end.play.id)
	if err != nil {
		return nil, err
	}
	result, err := d.resultOf(head)
	if err != nil {
		return nil, err
	}
	d.Notify(ctx, head)
	return &SmithersReplayResult{ReplayResult{result, made}, end.went}, end.check(head.Row())
}

// mended is the hint for a run that Smithers did not finish because of an error in the workflow.
const mended = "if you fix the workflow, replay again: Smithers resumes a run only with the exported workflow"

// check judges how Smithers left the run with the given row. If Smithers made no frame, the error is engine_failed.
// Otherwise the error depends on the status of the run: nil for a finished run, run_failed for a failed run,
// run_cancelled for a cancelled run, and run_waiting for a waiting run. For any other status, the error is
// engine_failed. The hints of each error say how to continue the run.
func (r foreignEnd) check(row snapshot.Run) error {
	switch {
	case !r.went:
		return fault.New(fault.EngineFailed, "Smithers did nothing with run %s and ended with status %d", row.ID, r.status).
			Hint("see the output of Smithers above").
			Hint("%s", r.play.again()).
			Hint(mended).
			Hint("%s", r.play.away()).
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
		return fault.New(fault.RunWaiting, "run %s waits in Smithers: %s", row.ID, row.Status).
			Hint("%s", r.play.answer(row.Status)).Hint("%s", r.play.again()).Detail("runId", row.ID).Detail("frame", row.Frame)
	}
	return fault.New(fault.EngineFailed, "Smithers left run %s as %s and ended with status %d", row.ID, row.Status, r.status).
		Hint("%s", r.play.again()).Detail("status", r.status).Detail("runId", row.ID)
}
