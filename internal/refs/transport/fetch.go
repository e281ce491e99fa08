package transport

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// Spec maps refs of the remote (From) to refs of this repository (To). Either both are complete names, or both are a
// prefix followed by "*". With "*", a ref keeps the part of its name after the prefix. A fetch overwrites the refs in
// To.
type Spec struct {
	From, To string
}

// notTips excludes the remote's refs below refs/smithers/_tip/_gone. They are not tips of runs, and their names in this
// repository would conflict with the names of tombstones.
const notTips = "^refs/smithers/_tip/_gone\n^refs/smithers/_tip/_gone/*\n"

// Fetch fetches the refs in specs from remote, with their objects. remote may be the path of a bundle. If the From of a
// spec has no "*" and the remote lacks this ref, Fetch moves no ref and the error wraps refs.ErrNotFound. If another
// process is fetching the same refs, Fetch tries again up to maxContended times.
//
// If prune is true, Fetch also deletes each ref of this repository that matches the To of a spec with "*", if the
// remote no longer has the matching ref.
//
// Fetch checks objects as git fsck does, with the user's fetch.fsck settings. The objects are on stable storage if
// git's core.fsync has its default value.
func (t *Transport) Fetch(ctx context.Context, remote string, specs []Spec, prune bool) error {
	process := t.process(t.fetchArgs(remote, prune), t.fetchSettings(remote))
	if t.opts.Talk != nil {
		process.Talk = &progressFilter{to: t.opts.Talk}
	}
	letGo, err := t.takeBundle(ctx, inDir(process.Dir, remote), remote)
	if err != nil {
		letGo()
		return err
	}
	defer letGo()
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
		// Another process has locked a ref, probably because it fetches the same refs. Try again after a pause.
		if err := pause(ctx, contendedFor); err != nil {
			return err
		}
	}
}

// fetchArgs returns the arguments of git fetch. With them, git writes only the requested refs and their objects. If
// prune is true, git also deletes refs: see Fetch.
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

// fetchSettings returns the configuration for one git fetch from remote, as "name=value" settings.
func (t *Transport) fetchSettings(remote string) []string {
	settings := []string{
		"fetch.fsckObjects=true", "advice.fetchShowForcedUpdates=false",
		// Make git store a pack, because git syncs a pack to stable storage but not loose objects.
		"fetch.unpackLimit=1",
	}
	if t.isPromisor(remote) {
		// git treats only objects of a filtered fetch as part of a partial clone.
		settings = append(settings, "remote."+remote+".partialCloneFilter="+filterOfNothing)
	}
	return settings
}

// filterOfNothing is a filter for partial clones that leaves out no object.
const filterOfNothing = "blob:limit=1023g"

// isPromisor reports whether this repository is a partial clone of remote.
func (t *Transport) isPromisor(remote string) bool {
	promisor, err := t.opts.Repo.Config.Bool("remote."+remote+".promisor", false)
	return err == nil && promisor
}

// inDir returns path if it is absolute, and otherwise path joined to dir.
func inDir(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
