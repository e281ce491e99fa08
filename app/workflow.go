package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// ReadWorkflow reads the workflow file that a request or a run's row names.
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
	return workflow.Parse(file, data)
}

// errFolder is the cause of folderError.
var errFolder = errors.New("a folder")

// folderError returns the error for a folder that is named as the workflow file.
func folderError(file string) error {
	out := fault.New(fault.InvalidWorkflow, "%s is a folder, not a workflow file", file).Hint("name a YAML file in it").Detail("file", file)
	out.Err = errFolder
	return out
}

// IsScript reports whether a file has a name like the workflows of Smithers.
func IsScript(name string) bool {
	switch filepath.Ext(name) {
	case ".tsx", ".ts", ".jsx", ".js", ".mjs":
		return true
	}
	return false
}

// scriptError returns the error for a workflow that only Smithers can run. Its hints name the commands of Smithers.
func scriptError(file string) *fault.Error {
	return fault.New(fault.InvalidWorkflow, "%s is a workflow of Smithers, which only Smithers can run", file).
		Hint("`smithers up %s` runs it, and `%s watch smithers.db` stores its frames in this repository", fault.Word(filepath.ToSlash(file)), fault.Program).
		Hint("`smithers timetravel %s -r RUN -n TASK` goes back in a run of it", fault.Word(filepath.ToSlash(file))).
		Detail("file", file)
}

// namedWorkflow reads the workflow file that a request names, or returns nil if file is "". Callers call it once for a
// request, before any write, so that the run executes the bytes that were checked.
func (f Folder) namedWorkflow(ctx context.Context, file string) (*workflow.Workflow, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // a request without a file is valid
	}
	return f.ReadWorkflow(ctx, file)
}

// isOtherFile reports whether wf probably belongs to another run: it differs from the run's workflow, the run has its own
// worktree, and the command was called in a linked worktree. wf may be nil.
func isOtherFile(store *timeline.Store, head *timeline.Head, wf *workflow.Workflow) bool {
	if wf == nil || wf.Snapshot().Hash() == head.Row().WorkflowHash {
		return false
	}
	own, err := code.OwnWorktreeOf(store, head)
	return err == nil && own != nil && own.Linked // opening the worktree reports the error
}

// KeptWorkflow returns the workflow stored in a run, or nil if the run stores no workflow of git smithers.
func KeptWorkflow(head *timeline.Head) (*workflow.Workflow, error) {
	kept, err := head.Entry().Workflow()
	if err != nil || kept == nil {
		return nil, timeline.Explain(err)
	}
	wf, err := workflow.Parse("the workflow of "+head.Row().ID, kept.Definition)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // the workflow is another engine's
	}
	return wf, nil
}
