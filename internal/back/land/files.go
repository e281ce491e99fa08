package land

import (
	"context"
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// captured is the record of captured files, and the entry that has it.
type captured struct {
	vcs   *snapshot.VCS
	entry *snapshot.Entry
}

// FilesAt returns the files of a frame. worktree is the task whose own worktree is meant, or "". Code: no_code if the frame has
// no such files.
func FilesAt(at *timeline.LoadedEntry, worktree string) (Files, error) {
	vcs, err := at.Entry.VCSRevision()
	if err != nil {
		return Files{}, timeline.Explain(err)
	}
	if vcs = files.WorktreeOf(vcs, worktree); vcs == nil || vcs.Tree.IsZero() {
		return Files{}, noFiles(at, worktree)
	}
	return Files{at.Address, at.Entry.ID, worktree, captured{vcs, at.Entry}}, nil
}

// noFiles returns no_code for a frame without files.
func noFiles(at *timeline.LoadedEntry, worktree string) error {
	if worktree != "" {
		return fault.New(fault.NoCode, "%s has no worktree of task %q", at.Address, worktree).
			Hint("`git smithers show %s` lists the frame's worktrees", fault.Word(at.Address.String())).Detail("runId", at.Address.Run).Detail("frame", at.Address.Frame)
	}
	return fault.New(fault.NoCode, "%s has no code: no files were captured for the frame", at.Address).
		Hint("%s", files.WhenCaptured(at.Entry)).
		Hint("`git smithers timeline %s` lists the run's frames", fault.Word(at.Address.Run)).
		Detail("runId", at.Address.Run).Detail("frame", at.Address.Frame)
}

// FirstFiles returns the files of the first frame of the line of a run that has files; see timeline.FirstFrame. So a fork lands
// what it has from its parents, too: where the parents were landed before, the merge finds the same changes on both sides. For a
// task's own worktree, these are the files that the worktree started with. run must be a whole id. Code: no_code if no frame has such files.
func FirstFiles(ctx context.Context, s *timeline.Store, run, worktree string) (Files, error) {
	first, err := timeline.FirstFrame(ctx, s, run)
	if err != nil {
		return Files{}, err
	}
	vcs, err := first.VCSRevision()
	if err != nil {
		return Files{}, timeline.Explain(err)
	}
	if vcs = files.WorktreeOf(vcs, worktree); vcs != nil && !vcs.Tree.IsZero() {
		return Files{timeline.Address{Run: first.Run, Frame: first.Frame}, first.ID, worktree, captured{vcs, first}}, nil
	}
	return laterFiles(ctx, s, run, worktree)
}

// laterFiles returns the files of the first frame with files, if the first frame of the line has none; see FirstFiles.
func laterFiles(ctx context.Context, s *timeline.Store, run, worktree string) (Files, error) {
	head, err := s.Head(ctx, run)
	if err != nil {
		return Files{}, err
	}
	var first *snapshot.Entry
	var found, shared *snapshot.VCS
	for entry, err := range snapshot.Ancestry(s.Objects(), head.Entry()) {
		if err != nil {
			return Files{}, timeline.Explain(err)
		}
		if err := ctx.Err(); err != nil {
			return Files{}, timeline.Explain(err)
		}
		if entry.Frame == snapshot.NoFrame {
			continue
		}
		all, err := entry.VCSRevision()
		if err != nil {
			return Files{}, timeline.Explain(err)
		}
		if one := files.WorktreeOf(all, worktree); one != nil && !one.Tree.IsZero() {
			first, found, shared = entry, one, all
		}
	}
	if first == nil {
		return Files{}, noFiles(&timeline.LoadedEntry{Address: timeline.Address{Run: run}, Entry: head.Entry()}, worktree)
	}
	if worktree == "" {
		return Files{timeline.Address{Run: first.Run, Frame: first.Frame}, first.ID, "", captured{found, first}}, nil
	}
	// The first frame with the worktree has what the task made of it. The worktree started with a commit.
	start := *found
	if start.Tree = files.WorktreeStart(s.Objects(), shared, found); start.Tree.IsZero() {
		return Files{}, fault.New(fault.LandRefused, "the files that the worktree of task %q started with are unknown", worktree).
			Hint("choose the first frame with --from").Detail("runId", run)
	}
	start.LeftOut, start.LeftOutMore, start.Scope = nil, 0, snapshot.ScopeAll
	return Files{timeline.Address{Run: first.Run, Frame: first.Frame}, first.ID, worktree, captured{&start, first}}, nil
}

// Since checks that the files to continue those of from: that from is an earlier frame of the same run, or of a run that it
// descends from. Code: invalid_input.
func Since(ctx context.Context, s *timeline.Store, from, to Files) error {
	if from.Address.Run == to.Address.Run {
		if from.Address.Frame <= to.Address.Frame {
			return nil
		}
		return fault.New(fault.InvalidInput, "%s is later than %s", from.Address, to.Address).
			Hint("--from is the earlier frame").Detail("runId", to.Address.Run)
	}
	entry, err := snapshot.ReadEntry(s.Objects(), to.Commit)
	if err != nil {
		return timeline.Explain(err)
	}
	for earlier, err := range snapshot.Ancestry(s.Objects(), entry) {
		if err != nil {
			return timeline.Explain(err)
		}
		if err := ctx.Err(); err != nil {
			return timeline.Explain(err)
		}
		if earlier.ID == from.Commit {
			return nil
		}
	}
	return fault.New(fault.InvalidInput, "%s is neither a frame of run %q nor of a run that it descends from", from.Address, to.Address.Run).
		Hint("`git smithers timeline %s` lists the run's frames", fault.Word(to.Address.Run)).Detail("runId", to.Address.Run)
}

// VCS returns the record of the files.
func (c captured) VCS() *snapshot.VCS { return c.vcs }

// missing returns land_refused if err means that an object is missing, with the command that gets it.
func missing(s *timeline.Store, err error) error {
	git, ok := errors.AsType[*gitexec.Error](err)
	unreachable := ok && s.Repo().Config.IsPartial() && strings.Contains(git.Stderr, "promisor remote")
	if !unreachable && !errors.Is(err, objstore.ErrNotFound) {
		return timeline.Explain(err)
	}
	refused := fault.New(fault.LandRefused, "objects that the merge needs are missing: %w", err)
	switch {
	case unreachable:
		refused = refused.Hint("this partial clone fetches them from its remote, which could not be read")
	case isShallow(s):
		refused = refused.Hint("`git fetch --unshallow` fetches the history that this shallow clone lacks")
	case s.Repo().Config.IsPartial():
		refused = refused.Hint("`git fetch --refetch` fetches the objects that this partial clone lacks")
	default:
		refused = refused.Hint("`git smithers doctor` shows the damage")
	}
	return refused
}
