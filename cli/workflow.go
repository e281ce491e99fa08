package cli

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
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
	if err != nil {
		return nil, fault.New(fault.WorkflowNotFound, "read workflow: %w", err).
			Hint("name a YAML file").Detail("file", file)
	}
	return engine.Parse(file, data)
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
			Hint("name it: `%s resume %s <workflow>`", program, row.ID)
	}
	path := filepath.FromSlash(row.WorkflowPath)
	if !filepath.IsLocal(path) {
		return "", fault.New(fault.InvalidState, "run %q names a workflow file outside of the working copy: %q", row.ID, row.WorkflowPath).
			Hint("name the file: `%s resume %s <workflow>`", program, row.ID)
	}
	return filepath.Join(s.workDir(store), path), nil
}
