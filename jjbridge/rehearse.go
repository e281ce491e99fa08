package jjbridge

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
)

// smudgeFailed matches git's error about a required filter that failed while git wrote a file.
var smudgeFailed = lazyregexp.New(`(?m)^fatal: (.*): (smudge filter .* failed)$`)

// rehearse writes the files that plan changes, those at the paths others too, into a folder of its own, as far as a filter that git
// requires writes them. If a filter fails, the error is a *RefusedError: git would stop in the middle of the restore, after it has
// removed files. Without such files, rehearse writes nothing.
func (g *filesGit) rehearse(ctx context.Context, plan *Plan, others []string) (err error) {
	required := g.w.requiredFilters()
	if len(required) == 0 {
		return nil
	}
	names := slices.Clone(others)
	for _, e := range plan.edits {
		if e.to.exists() && !e.to.isModule() {
			names = append(names, e.path)
		}
	}
	folder, err := os.MkdirTemp(g.index.Dir, "rehearsal-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	aside := *g
	aside.env = append(slices.Clone(g.env), "GIT_INDEX_FILE="+filepath.Join(folder, "index"))
	if _, err := aside.run(ctx, "read-tree", plan.To.String()); err != nil {
		return err
	}
	out, err := aside.runWith(ctx, paths(names), "check-attr", "--cached", "-z", "--stdin", "filter")
	if err != nil {
		return err
	}
	var filtered []string
	for fields := splitPaths(out); len(fields) >= 3; fields = fields[3:] { // the path, "filter" and the value
		if required[fields[2]] {
			filtered = append(filtered, fields[0])
		}
	}
	if len(filtered) == 0 {
		return nil
	}
	_, err = aside.runWith(ctx, paths(filtered), "checkout-index", "-z", "--stdin", "--prefix="+filepath.ToSlash(folder)+"/files/")
	failed, ok := errors.AsType[*gitexec.Error](err)
	if !ok || errors.Is(err, gitexec.ErrNoGit) {
		return err
	}
	words := smudgeFailed.FindStringSubmatch(failed.Stderr)
	if words == nil {
		return err
	}
	return &RefusedError{Refused: []Refusal{{Path: words[1], Reason: words[2] + ": " + strings.TrimSpace(failed.Stderr[:strings.IndexByte(failed.Stderr+"\n", '\n')])}}}
}

// requiredFilters returns the names of the filters that write files and that git requires.
func (w *Workspace) requiredFilters() map[string]bool {
	required := make(map[string]bool)
	for key := range w.Repo.Config {
		name, ok := strings.CutPrefix(key, "filter.")
		if name, isFlag := strings.CutSuffix(name, ".required"); ok && isFlag {
			required[name], _ = w.Repo.Config.Bool(key, false) // git itself refuses another value
		}
	}
	maps.DeleteFunc(required, func(_ string, is bool) bool { return !is })
	return required
}
