package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// workflowOf returns the workflow with which a run continues if the request names no workflow file. This is the
// workflow in the file that the run's row names. If that file cannot be used, it is the workflow stored in the run, and
// workflowOf passes a note about this to the teller. A file cannot be used if it is a folder or cannot be read. If
// anyFile is false, a file that probably belongs to another run cannot be used either (see isOtherFile).
//
// The error is invalid_state if the row's path leads out of the working copy. If the file has errors, workflowOf
// returns these errors. If the run stores no workflow, the error is the one that noWorkflow returns.
func (d *Desk) workflowOf(ctx context.Context, head *timeline.Head, anyFile bool) (*workflow.Workflow, error) {
	row := head.Row()
	file, err := d.rememberedPath(row)
	if err != nil && row.WorkflowPath != "" {
		return nil, err
	}
	if err == nil {
		var wf *workflow.Workflow
		wf, err = d.Folder.ReadWorkflow(ctx, file)
		wf = wf.AsStored(row.WorkflowHash)
		if !anyFile && isOtherFile(d.Store, head, wf) {
			err = fault.New(fault.WorkflowNotFound, "the workflow file in this worktree differs from the workflow of run %s", row.ID)
		}
		if fault.CodeOf(err) != fault.WorkflowNotFound && !errors.Is(err, errFolder) {
			return wf, err
		}
	}
	// Here, err is the reason why the file is not used.
	kept, keptErr := KeptWorkflow(head)
	if kept == nil {
		return nil, errors.Join(noWorkflow(head, err), keptErr)
	}
	if !kept.Sweep {
		d.Teller.Note(ctx, DefinitionKeptNote{row.ID})
	}
	return kept, nil
}

// workflowFile returns the absolute path of a run's workflow file. named is the name of the file in the request, or "".
// If named is "", workflowFile takes the file that the run's row names. It returns "" if the row names no file, or a
// file outside of the working copy.
func (d *Desk) workflowFile(row snapshot.Run, named string) string {
	if named != "" {
		return d.Folder.Path(named)
	}
	path, err := d.rememberedPath(row)
	if err != nil {
		return ""
	}
	return path
}

// workflowFileToType returns the workflow file of a run in the form in which a user types it in a command. named is the
// name of the file in the request, or "". If named is not "", the result is named. Otherwise it is the result of
// relativeWorkflowFile. If the result begins with -, workflowFileToType adds ./ before it, so that no command reads it
// as a flag.
func (d *Desk) workflowFileToType(row snapshot.Run, named string) string {
	file := d.relativeWorkflowFile(row, named)
	if strings.HasPrefix(file, "-") {
		return "./" + file
	}
	return file
}

// relativeWorkflowFile returns the path of a run's workflow file. named is the name of the file in the request, or "".
// If named is not "", the result is named. Otherwise the result is the path of the file that the run's row names, with
// slashes, and relative to the desk's folder if possible. It is "" if the row names no file or a file outside of the
// working copy, or if the file does not exist or is a folder.
func (d *Desk) relativeWorkflowFile(row snapshot.Run, named string) string {
	file := d.workflowFile(row, named)
	if info, err := os.Stat(file); named != "" || err != nil || info.IsDir() {
		return named
	}
	here, hereErr := filepath.EvalSymlinks(string(d.Folder))
	there, thereErr := filepath.EvalSymlinks(file)
	rel, relErr := filepath.Rel(here, there)
	if errors.Join(hereErr, thereErr, relErr) != nil {
		return filepath.ToSlash(file)
	}
	return filepath.ToSlash(rel)
}

// workDir returns the folder in which tasks run. This is the top of the working copy, if there is one. Otherwise, if
// the git directory is in a folder .smithers, the result is the parent of .smithers; such a repository has only run
// history. In all other cases, the result is the desk's folder.
func (d *Desk) workDir() string {
	if top := d.Store.Workspace().Root; top != "" {
		return top
	}
	if dir := d.Store.Repo().CommonDir; filepath.Base(filepath.Dir(dir)) == ".smithers" {
		return filepath.Dir(filepath.Dir(dir))
	}
	return string(d.Folder)
}

// OwnWorktree returns the folder of the worktree that the tasks of the run of head share. It returns nil if the run has
// no worktree of its own: it then goes on in the working copy in which it is resumed. The folder is "" if this clone does
// not have the worktree now: `resume` makes it.
func OwnWorktree(store *timeline.Store, head *timeline.Head) (*string, error) {
	own, err := files.OwnWorktreeOf(store, head)
	if err != nil || own == nil {
		return nil, err
	}
	return &own.Path, nil
}

// needWorkDir returns no_working_copy if a task of wf would run among git's own files: in a bare repository, or inside
// a git directory. Tasks without a command, and tasks in a worktree, do not count.
func (d *Desk) needWorkDir(wf *workflow.Workflow) error {
	if d.Store.Workspace().Root != "" || wf.Worktree != nil || !slices.ContainsFunc(wf.Tasks, worksHere) {
		return nil
	}
	dir, err := filepath.EvalSymlinks(d.workDir())
	if err != nil {
		return nil //nolint:nilerr // a folder without a real path is not inside a git directory
	}
	rel, err := filepath.Rel(d.Store.Repo().CommonDir, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return nil //nolint:nilerr // the folder is outside of the git directory
	}
	return fault.New(fault.NoWorkingCopy, "the tasks would run among git's own files: %s is not a working copy", dir).
		Hint("run the command in a clone, or in a worktree of this repository")
}

// worksHere reports whether a task works in the working copy that the tasks of its run share.
func worksHere(t *workflow.Task) bool { return t.Works() && t.Worktree == nil }

// storedPath returns the path of a workflow file as the run's row stores it: relative to workDir, with slashes. It
// returns "" if the file does not exist or its name is not UTF-8. It also returns "" for a file outside of workDir,
// because history must not name the folders of a machine.
func (d *Desk) storedPath(file string) string {
	top, topErr := filepath.EvalSymlinks(d.workDir())
	path, pathErr := filepath.EvalSymlinks(d.Folder.Path(file))
	if topErr != nil || pathErr != nil {
		return ""
	}
	rel, err := filepath.Rel(top, path)
	if err != nil || !filepath.IsLocal(rel) || !utf8.ValidString(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// rememberedPath returns the path of the workflow file that a run's row names. It does not check that the file exists.
// The error is usage if the row names no file, and invalid_state if the path leads out of the working copy: history may
// come from another machine.
func (d *Desk) rememberedPath(row snapshot.Run) (string, error) {
	if row.WorkflowPath == "" {
		return "", fault.New(fault.Usage, "run %q has no workflow file", row.ID).
			Hint("name the workflow file: `%s resume %s WORKFLOW`", fault.Program, fault.Word(row.ID))
	}
	path := filepath.FromSlash(row.WorkflowPath)
	if !filepath.IsLocal(path) {
		return "", fault.New(fault.InvalidState, "run %q names a workflow file outside of the working copy: %q", row.ID, row.WorkflowPath).
			Hint("name the workflow file: `%s resume %s WORKFLOW`", fault.Program, fault.Word(row.ID))
	}
	return filepath.Join(d.workDir(), path), nil
}
