package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// ReadWorkflow reads and parses a workflow file, and the files that it calls. The error is workflow_not_found if the file cannot be read. The error
// is invalid_workflow if file names a folder or a workflow of Smithers, or if the workflow has errors. If ctx ends
// first, the error is that of ctx.
func (f Folder) ReadWorkflow(ctx context.Context, file string) (*workflow.Workflow, error) {
	data, err := f.ReadFile(ctx, file, workflow.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.WorkflowNotFound, "there is no workflow file %s", file).
			Hint("name a YAML file").Detail("file", file)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if info, statErr := os.Stat(f.Path(file)); err != nil && statErr == nil && info.IsDir() {
		return nil, folderError(file)
	}
	if err != nil {
		return nil, fault.New(fault.WorkflowNotFound, "read workflow: %w", err).
			Hint("name a YAML file").Detail("file", file)
	}
	if IsScript(file) {
		return nil, scriptError(file)
	}
	return workflow.Load(file, data, func(called string) ([]byte, error) {
		if IsScript(called) {
			return nil, scriptError(called)
		}
		return f.ReadFile(ctx, filepath.Join(filepath.Dir(file), filepath.FromSlash(called)), workflow.MaxFile)
	})
}

// errFolder is the cause of the error that folderError returns.
var errFolder = errors.New("a folder")

// folderError returns invalid_workflow for a folder that is named as the workflow file. The error wraps errFolder.
func folderError(file string) error {
	out := fault.New(fault.InvalidWorkflow, "%s is a folder, not a workflow file", file).Hint("name a YAML file in it").Detail("file", file)
	out.Err = errFolder
	return out
}

// IsScript reports whether name has the extension of a workflow file of Smithers, such as .tsx.
func IsScript(name string) bool {
	switch filepath.Ext(name) {
	case ".tsx", ".ts", ".jsx", ".js", ".mjs":
		return true
	}
	return false
}

// scriptError returns invalid_workflow for a workflow that only Smithers can run. Its hints are the commands of
// Smithers.
func scriptError(file string) *fault.Error {
	return fault.New(fault.InvalidWorkflow, "%s is a workflow of Smithers, which only Smithers can run", file).
		Hint("`smithers up %s` runs the workflow, and `%s watch smithers.db` stores the frames in this repository", fault.Word(filepath.ToSlash(file)), fault.Program).
		Hint("`smithers timetravel %s -r RUN -n TASK` goes back within a run of the workflow", fault.Word(filepath.ToSlash(file))).
		Detail("file", file)
}

// namedWorkflow reads the workflow file that a request names, or returns nil if file is "". Each request calls it
// once and before any write, so that the run executes the bytes that were checked.
func (f Folder) namedWorkflow(ctx context.Context, file string) (*workflow.Workflow, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // a request without a file is valid
	}
	return f.ReadWorkflow(ctx, file)
}

// isOtherFile guesses whether the workflow wf belongs to a run other than head's run. It returns true if all three
// hold: wf differs from the run's workflow; the run has its own worktree; and the command was called in a linked
// worktree or an additional jj workspace. It returns false if wf is nil, or if the run's worktree cannot be read.
func isOtherFile(store *timeline.Store, head *timeline.Head, wf *workflow.Workflow) bool {
	if wf == nil || wf.Snapshot().Hash() == head.Row().WorkflowHash {
		return false
	}
	own, err := files.OwnWorktreeOf(store, head)
	return err == nil && own != nil && own.Linked // opening the worktree reports the error
}

// KeptWorkflow returns the workflow stored in the run of head, or nil if the run stores no workflow of git
// smithers.
func KeptWorkflow(head *timeline.Head) (*workflow.Workflow, error) {
	kept, err := head.Entry().Workflow()
	if err != nil || kept == nil {
		return nil, timeline.Explain(err)
	}
	wf, err := workflow.Stored("the workflow of "+head.Row().ID, kept.Definition)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // the workflow is another engine's
	}
	return wf, nil
}
