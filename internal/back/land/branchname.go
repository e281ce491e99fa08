package land

import (
	"context"
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// freeBranch checks the name of a new branch. Codes: usage if git has no such name for a branch; land_refused if the
// branch exists, or if a branch is where a folder of branches is needed, or the other way round.
func freeBranch(ctx context.Context, w *jjbridge.Workspace, name string) error {
	if err := validBranch(ctx, w, name); err != nil {
		return err
	}
	first, _, _ := strings.Cut(name, "/")
	out, err := w.RunGit(ctx, "for-each-ref", "--format=%(refname)", "refs/heads/"+first)
	if err != nil {
		return timeline.Explain(err)
	}
	for line := range strings.Lines(string(out)) {
		other := strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "refs/heads/")
		var refused *fault.Error
		switch {
		case other == name:
			refused = fault.New(fault.LandRefused, "branch %s exists", name)
		case strings.HasPrefix(name, other+"/"), strings.HasPrefix(other, name+"/"):
			refused = fault.New(fault.LandRefused, "branch %s cannot be made beside the branch %s", name, other)
		default:
			continue
		}
		return refused.Hint("choose another name").Detail("branch", name)
	}
	return nil
}

// validBranch returns usage if git branch refuses the name. A name that means something else in a command of git, as
// HEAD and @{-1} do, is refused, too, and so is the full name of a ref.
func validBranch(ctx context.Context, w *jjbridge.Workspace, name string) error {
	invalid := fault.New(fault.Usage, "%q is not a valid name of a branch", name)
	if short, ok := strings.CutPrefix(name, "refs/heads/"); ok {
		return invalid.Hint("the name has no refs/heads/: %s", short)
	}
	invalid = invalid.Hint("`git help check-ref-format` has the rules")
	if name == "HEAD" || name == "@" || strings.HasPrefix(name, "refs/") {
		return invalid
	}
	out, err := w.RunGit(ctx, "check-ref-format", "--branch", name)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status > 0 {
		return invalid
	}
	if err != nil {
		return timeline.Explain(err)
	}
	if strings.TrimSuffix(string(out), "\n") != name {
		return invalid
	}
	return nil
}
