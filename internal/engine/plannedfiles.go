package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// plannedFiles are the files of the working copy that the tasks of a plan share, as they are now. As a WorkingCopy, it never changes.
type plannedFiles struct {
	WorkingCopy

	cache    *cache.Cache  // reads the captured files, too
	captured *snapshot.VCS // nil if they were not captured
	changed  []string      // tasks that change files before the tasks that start now
	will     []string      // tasks that change files
	unsure   bool          // a result did not fit, and would perhaps if the tasks in changed had ended
}

// readPlanned captures the working copy for a plan, if a task of wf looks for results in the cache.
func readPlanned(ctx context.Context, sketch *Sketch, wf *workflow.Workflow, opts Options) (*plannedFiles, error) {
	p := &plannedFiles{WorkingCopy: opts.WorkingCopy, cache: opts.Cache.Within(sketch.batch)}
	tasks := slices.Clone(wf.Tasks)
	for _, called := range wf.Called() {
		tasks = append(tasks, called.Tasks...)
	}
	if opts.WorkingCopy == nil || !slices.ContainsFunc(tasks, func(t *workflow.Task) bool { return t.Cache != nil }) {
		return p, nil
	}
	read, err := opts.WorkingCopy.Capture(ctx)
	if err != nil || read == nil {
		return p, timeline.Explain(err)
	}
	p.captured = &read.VCS
	return p, timeline.Explain(errors.Join(read.Objects(sketch.batch), read.Close()))
}

// begin begins a round. crowded means that some of its tasks start only when others have ended.
func (p *plannedFiles) begin(crowded bool) {
	p.changed = p.will
	if crowded {
		p.changed = append(slices.Clip(p.changed), "tasks that start before")
	}
}

// doubt returns on what the files depend with which a task begins, or "" if they are known.
func (p *plannedFiles) doubt(t *workflow.Task) string {
	switch {
	case t.Cache.NoFiles:
		return ""
	case t.OwnWorktree() != "":
		return "the files of its worktree"
	case p.WorkingCopy == nil:
		return "files that are not there yet"
	case len(p.changed) > 0:
		return "the files that " + strings.Join(p.changed[:min(len(p.changed), 3)], ", ") + " leave"
	}
	return ""
}

// Apply implements Applier. It reports whether edits would fit, and makes none.
func (p *plannedFiles) Apply(_ context.Context, edits []jjbridge.FileEdit) (bool, error) {
	p.unsure = len(p.changed) > 0 || p.captured == nil
	if p.unsure {
		return false, nil
	}
	fits, changes, err := p.cache.Fits(p.captured, edits)
	if fits && changes {
		p.will = append(p.will, "results of the cache")
	}
	return fits, err
}
