package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// readWorkflow reads a workflow file that the command line, or a run's row, names.
func (s *session) readWorkflow(ctx context.Context, file string) (*engine.Workflow, error) {
	data, err := s.readFile(ctx, file, engine.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.WorkflowNotFound, "there is no workflow file %s", file).
			Hint("name a YAML file").Detail("file", file)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if info, statErr := os.Stat(s.path(file)); err != nil && statErr == nil && info.IsDir() {
		return nil, folderError(file)
	}
	if err != nil {
		return nil, fault.New(fault.WorkflowNotFound, "read workflow: %w", err).
			Hint("name a YAML file").Detail("file", file)
	}
	if isScript(file) {
		return nil, scriptError(file)
	}
	return engine.Parse(file, data)
}

// errFolder is the cause of the error about a folder in the place of a workflow file.
var errFolder = errors.New("a folder")

// folderError is about a folder in the place of a workflow file.
func folderError(file string) error {
	out := fault.New(fault.InvalidWorkflow, "%s is a folder, and no workflow file", file).Hint("name a YAML file in it").Detail("file", file)
	out.Err = errFolder
	return out
}

// isScript reports whether a file has a name like the workflows of Smithers.
func isScript(name string) bool {
	switch filepath.Ext(name) {
	case ".tsx", ".ts", ".jsx", ".js", ".mjs":
		return true
	}
	return false
}

// scriptError is about a workflow that Smithers runs. A run of it can be followed from here.
func scriptError(file string) *fault.Error {
	return fault.New(fault.InvalidWorkflow, "%s is a workflow of Smithers: Smithers runs it", file).
		Hint("`smithers up %s` runs it, and `%s watch smithers.db` keeps its frames here", fault.Word(filepath.ToSlash(file)), program).
		Hint("`smithers timetravel %s -r RUN -n TASK` goes back in a run of it", fault.Word(filepath.ToSlash(file))).
		Detail("file", file)
}

// namedWorkflow reads the workflow file that the command line names; nil for "". A command
// calls it once, before it writes: what was read is what runs.
func (s *session) namedWorkflow(ctx context.Context, file string) (*engine.Workflow, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // that none is named is an answer, and no error
	}
	return s.readWorkflow(ctx, file)
}

// workflowOf reads the workflow with which a run goes on if the command line names none: the
// file that the run remembers or, where that is not here, what the run keeps of it.
//
// If the run has a worktree of its own and this is a linked worktree, a file of that name here is mostly another one:
// it is taken only with anyFile.
func (s *session) workflowOf(ctx context.Context, store *timeline.Store, head *timeline.Head, anyFile bool) (*engine.Workflow, error) {
	row := head.Row()
	file, err := s.rememberedPath(store, row)
	if err != nil && row.WorkflowPath != "" {
		return nil, err
	}
	if err == nil {
		var wf *engine.Workflow
		wf, err = s.readWorkflow(ctx, file)
		if !anyFile && isOtherFile(store, head, wf) {
			err = fault.New(fault.WorkflowNotFound, "the workflow file here is not that of run %s", row.ID)
		}
		if fault.CodeOf(err) != fault.WorkflowNotFound && !errors.Is(err, errFolder) {
			return wf, err
		}
	}
	kept, keptErr := keptWorkflow(head)
	if kept == nil {
		return nil, errors.Join(noWorkflow(head, err), keptErr)
	}
	s.note("the workflow file of run %s is not here: it goes on with the definition that it keeps", plain(row.ID))
	return kept, nil
}

// isOtherFile reports whether a workflow, which may be nil, is what a linked worktree has under the name of the workflow
// file of a run that has a worktree of its own.
func isOtherFile(store *timeline.Store, head *timeline.Head, wf *engine.Workflow) bool {
	if wf == nil || wf.Snapshot().Hash() == head.Row().WorkflowHash {
		return false
	}
	own, err := timeline.OwnWorktreeOf(store, head)
	return err == nil && own != nil && own.Linked // opening the worktree reports the error
}

// keptWorkflow is the workflow that a run keeps; nil where it keeps none that can be run
// here, but another engine's.
func keptWorkflow(head *timeline.Head) (*engine.Workflow, error) {
	kept, err := head.Entry().Workflow()
	if err != nil || kept == nil {
		return nil, timeline.Explain(err)
	}
	wf, err := engine.Parse("the workflow of "+head.Row().ID, kept.Definition)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // another engine's is no workflow of ours
	}
	return wf, nil
}

// workflowFile is the absolute path of the workflow file that the command line names or, if that is "", that the run
// remembers; "" if there is none.
func (s *session) workflowFile(store *timeline.Store, row snapshot.Run, named string) string {
	if named != "" {
		return s.path(named)
	}
	path, err := s.rememberedPath(store, row)
	if err != nil {
		return ""
	}
	return path
}

// workflowFileToType returns the workflow file of a run as one types it here: the one that the command line names or, if
// that is "", the one that the run remembers; "" if that one is not here. No command takes it for an option.
func (s *session) workflowFileToType(store *timeline.Store, row snapshot.Run, named string) string {
	file := s.relativeWorkflowFile(store, row, named)
	if strings.HasPrefix(file, "-") {
		return "./" + file
	}
	return file
}

func (s *session) relativeWorkflowFile(store *timeline.Store, row snapshot.Run, named string) string {
	file := s.workflowFile(store, row, named)
	if info, err := os.Stat(file); named != "" || err != nil || info.IsDir() {
		return named
	}
	here, hereErr := filepath.EvalSymlinks(s.Dir)
	there, thereErr := filepath.EvalSymlinks(file)
	rel, relErr := filepath.Rel(here, there)
	if errors.Join(hereErr, thereErr, relErr) != nil {
		return filepath.ToSlash(file)
	}
	return filepath.ToSlash(rel)
}

// workDir is where the tasks of runs are run: the top of the working copy. A store
// for run history alone stands in for it with the folder that it was made in.
func (s *session) workDir(store *timeline.Store) string {
	if top := store.WorkTree(); top != "" {
		return top
	}
	if dir := store.CommonDir(); filepath.Base(filepath.Dir(dir)) == ".smithers" {
		return filepath.Dir(filepath.Dir(dir))
	}
	return s.Dir
}

// needWorkDir is no_working_copy where tasks of a workflow would run among git's own files:
// in a bare repository, or inside of any git directory.
func (s *session) needWorkDir(store *timeline.Store, wf *engine.Workflow) error {
	here := func(t *engine.Task) bool { return t.Run != "" && t.Worktree == nil }
	if store.WorkTree() != "" || wf.Worktree != nil || !slices.ContainsFunc(wf.Tasks, here) {
		return nil
	}
	dir, err := filepath.EvalSymlinks(s.workDir(store))
	if err != nil {
		return nil //nolint:nilerr // whatever that is, it is no git directory
	}
	rel, err := filepath.Rel(store.CommonDir(), dir)
	if err != nil || !filepath.IsLocal(rel) {
		return nil //nolint:nilerr // it is elsewhere
	}
	return fault.New(fault.NoWorkingCopy, "the tasks would run among git's own files: %s is no working copy", dir).
		Hint("run it in a clone, or in a worktree of this repository")
}

// storedPath is how a run remembers its workflow file: relative to the folder in
// which its tasks run, with slashes. "" for a file elsewhere, since nothing that is
// stored names a machine's folders, and for a name that is no text.
func (s *session) storedPath(store *timeline.Store, file string) string {
	top, topErr := filepath.EvalSymlinks(s.workDir(store))
	path, pathErr := filepath.EvalSymlinks(s.path(file))
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
func (s *session) rememberedPath(store *timeline.Store, row snapshot.Run) (string, error) {
	if row.WorkflowPath == "" {
		return "", fault.New(fault.Usage, "run %q does not know its workflow file", row.ID).
			Hint("name it: `%s resume %s WORKFLOW`", program, fault.Word(row.ID))
	}
	path := filepath.FromSlash(row.WorkflowPath)
	if !filepath.IsLocal(path) {
		return "", fault.New(fault.InvalidState, "run %q names a workflow file outside of the working copy: %q", row.ID, row.WorkflowPath).
			Hint("name the file: `%s resume %s WORKFLOW`", program, fault.Word(row.ID))
	}
	return filepath.Join(s.workDir(store), path), nil
}
