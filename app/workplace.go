package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// workflowOf reads the workflow with which a run continues if the request names none: the file that the run remembers or,
// if the file is not here, the definition that the run keeps.
//
// If the run has a worktree of its own and this is a linked worktree, a file of the same name here is mostly another one:
// it is taken only with anyFile.
func (d *Desk) workflowOf(ctx context.Context, head *timeline.Head, anyFile bool) (*workflow.Workflow, error) {
	row := head.Row()
	file, err := d.rememberedPath(row)
	if err != nil && row.WorkflowPath != "" {
		return nil, err
	}
	if err == nil {
		var wf *workflow.Workflow
		wf, err = d.Folder.ReadWorkflow(ctx, file)
		if !anyFile && isOtherFile(d.Store, head, wf) {
			err = fault.New(fault.WorkflowNotFound, "the workflow file in this worktree differs from the workflow of run %s", row.ID)
		}
		if fault.CodeOf(err) != fault.WorkflowNotFound && !errors.Is(err, errFolder) {
			return wf, err
		}
	}
	kept, keptErr := KeptWorkflow(head)
	if kept == nil {
		return nil, errors.Join(noWorkflow(head, err), keptErr)
	}
	d.Teller.Note(ctx, DefinitionKeptNote{row.ID})
	return kept, nil
}

// workflowFile is the absolute path of the workflow file that the request names or, if that is "", that the run
// remembers; "" if there is none.
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

// workflowFileToType returns the workflow file of a run as one types it here: the one that the request names or, if
// that is "", the one that the run remembers; "" if that one is not here. No command takes it for an option.
func (d *Desk) workflowFileToType(row snapshot.Run, named string) string {
	file := d.relativeWorkflowFile(row, named)
	if strings.HasPrefix(file, "-") {
		return "./" + file
	}
	return file
}

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

// workDir is where the tasks of runs are run: the top of the working copy. A store
// for run history alone stands in for it with the folder that it was made in.
func (d *Desk) workDir() string {
	if top := d.Store.Workspace().Root; top != "" {
		return top
	}
	if dir := d.Store.Repo().CommonDir; filepath.Base(filepath.Dir(dir)) == ".smithers" {
		return filepath.Dir(filepath.Dir(dir))
	}
	return string(d.Folder)
}

// needWorkDir is no_working_copy where tasks of a workflow would run among git's own files:
// in a bare repository, or inside of any git directory.
func (d *Desk) needWorkDir(wf *workflow.Workflow) error {
	here := func(t *workflow.Task) bool { return t.Run != "" && t.Worktree == nil }
	if d.Store.Workspace().Root != "" || wf.Worktree != nil || !slices.ContainsFunc(wf.Tasks, here) {
		return nil
	}
	dir, err := filepath.EvalSymlinks(d.workDir())
	if err != nil {
		return nil //nolint:nilerr // whatever that is, it is no git directory
	}
	rel, err := filepath.Rel(d.Store.Repo().CommonDir, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return nil //nolint:nilerr // it is elsewhere
	}
	return fault.New(fault.NoWorkingCopy, "the tasks would run among git's own files: %s is not a working copy", dir).
		Hint("run the command in a clone, or in a worktree of this repository")
}

// storedPath is how a run remembers its workflow file: relative to the folder in
// which its tasks run, with slashes. "" for a file elsewhere, since nothing that is
// stored names a machine's folders, and for a name that is no text.
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

// rememberedPath is the file that a run's row names. History may come from
// elsewhere, so a path that leads out of the working copy is refused.
func (d *Desk) rememberedPath(row snapshot.Run) (string, error) {
	if row.WorkflowPath == "" {
		return "", fault.New(fault.Usage, "run %q has no workflow file", row.ID).
			Hint("name the file: `%s resume %s WORKFLOW`", fault.Program, fault.Word(row.ID))
	}
	path := filepath.FromSlash(row.WorkflowPath)
	if !filepath.IsLocal(path) {
		return "", fault.New(fault.InvalidState, "run %q names a workflow file outside of the working copy: %q", row.ID, row.WorkflowPath).
			Hint("name the file: `%s resume %s WORKFLOW`", fault.Program, fault.Word(row.ID))
	}
	return filepath.Join(d.workDir(), path), nil
}
