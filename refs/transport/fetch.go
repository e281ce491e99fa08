package transport

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// Spec says which refs of the other side go where. A name that ends in "*" stands for all
// that begin so, on both sides. The refs here are overwritten with what is there.
type Spec struct {
	From, To string
}

// notTips are refs of the other side that can be no run's tip, and whose names here would
// be those of tombstones or in their way.
const notTips = "^refs/smithers/_tip/_gone\n^refs/smithers/_tip/_gone/*\n"

// Fetch brings refs of remote and what they reach. With prune, refs here that match the
// To of a spec with "*" and are not there any more are deleted. A spec without "*" whose
// ref is not there is an error that wraps refs.ErrNotFound, and brings nothing. Objects
// are checked as git fsck does, under the user's fetch.fsck settings, and are on stable
// storage where git's core.fsync is as git has it. Remote may be the path of a bundle.
func (t *Transport) Fetch(ctx context.Context, remote string, specs []Spec, prune bool) error {
	process := t.process(t.fetchArgs(remote, prune), t.fetchSettings(remote))
	if t.opts.Talk != nil {
		process.Talk = &progressFilter{to: t.opts.Talk}
	}
	if err := t.takeBundle(ctx, inDir(process.Dir, remote), remote); err != nil {
		return err
	}
	var lines strings.Builder
	wild := false
	for _, spec := range specs {
		lines.WriteString("+" + spec.From + ":" + spec.To + "\n")
		wild = wild || strings.HasSuffix(spec.From, "*")
	}
	if wild {
		lines.WriteString(notTips)
	}
	for tries := maxContended; ; tries-- {
		process.Stdin = strings.NewReader(lines.String())
		_, err := t.run(ctx, process)
		var failed *gitexec.Error
		if err == nil || tries == 0 || !errors.As(err, &failed) || !strings.Contains(failed.Stderr, "cannot lock ref") {
			return err
		}
		// Somebody else fetches the same just now.
		if err := pause(ctx, contendedFor); err != nil {
			return err
		}
	}
}

func (t *Transport) fetchArgs(remote string, prune bool) []string {
	args := []string{
		"fetch", t.progress(), "--stdin", "--refmap=", "--no-tags", "--no-prune-tags",
		"--no-write-fetch-head", "--no-write-commit-graph", "--no-auto-maintenance", "--no-recurse-submodules", "--no-show-forced-updates",
	}
	if t.opts.Talk == nil {
		args = append(args, "--quiet")
	}
	if prune {
		args = append(args, "--prune")
	} else {
		args = append(args, "--no-prune")
	}
	if !t.isPromisor(remote) {
		args = append(args, "--no-filter")
	}
	return append(args, "--", remote)
}

func (t *Transport) fetchSettings(remote string) []string {
	settings := []string{
		"fetch.fsckObjects=true", "advice.fetchShowForcedUpdates=false",
		// One pack, which git writes to stable storage, instead of loose objects, which it does not.
		"fetch.unpackLimit=1",
	}
	if t.isPromisor(remote) {
		// git takes what came with a filter, and only that, for a part of a partial clone.
		settings = append(settings, "remote."+remote+".partialCloneFilter="+filterOfNothing)
	}
	return settings
}

// filterOfNothing leaves no object out.
const filterOfNothing = "blob:limit=1023g"

// isPromisor reports whether this repository is a partial clone of remote.
func (t *Transport) isPromisor(remote string) bool {
	promisor, err := t.opts.Repo.Config.Bool("remote."+remote+".promisor", false)
	return err == nil && promisor
}

// inDir is a path as a process in dir understands it.
func inDir(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
