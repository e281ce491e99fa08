package upkeep

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	// prePushLine is the line of a pre-push hook that searches for secrets what a plain git push sends of runs.
	prePushLine = `git-smithers scan --pre-push "$1"`
	// prePushHook is the hook. A clone without git-smithers is not disturbed.
	prePushHook = `#!/bin/sh
# Searches runs for secrets before git pushes them. Remove this file to end that.
command -v git-smithers >/dev/null || exit 0
exec ` + prePushLine + "\n"
	// lefthookLine is the same line for the file of lefthook.
	lefthookLine = `pre-push: {commands: {smithers: {run: git-smithers scan --pre-push {1}, use_stdin: true}}}`
)

// offerHook installs the pre-push hook where git runs hooks, unless there is one. If want is false, offerHook first asks the person at the
// terminal; without a terminal, it does nothing. It changes neither a hook of the user nor a folder outside the repository, but prints
// the line to add.
//
// The result reports whether the hook is there now, and where git looks for it. It is nil if the repository has no commits of the user to push.
func offerHook(ctx context.Context, s *session.Session, repo gitexec.Repo, want bool) (there *bool, path string, err error) {
	place, err := findHook(ctx, s, repo)
	if err != nil {
		return nil, "", err
	}
	if place.searches {
		return new(true), place.path, nil
	}
	if place.none {
		if want {
			s.Note("git runs no hooks here, since core.hooksPath leads to %s; name a folder there, and repeat the command", plain.Text(filepath.Dir(place.path)))
		}
		return new(false), place.path, nil
	}
	if place.taken || place.outside {
		if want {
			what, file := "is a hook of yours and was not changed", "it"
			if !place.taken {
				what = "would be a hook of other repositories, too, and was not made"
			}
			if place.file != place.path {
				file = plain.Text(place.file)
			}
			s.Note("%s %s; add this line to %s: %s", plain.Text(place.path), what, file, place.line)
		}
		return new(false), place.path, nil
	}
	if !want {
		if !s.CanAsk() {
			return new(false), place.path, nil
		}
		if want, err = s.Ask("Install a pre-push hook, so that a plain git push carries no secrets of runs?"); err != nil || !want {
			return new(false), place.path, err
		}
	}
	if err := os.MkdirAll(filepath.Dir(place.file), 0o777); err != nil {
		return nil, "", timeline.Explain(err)
	}
	const executable = 0o777
	file, err := os.OpenFile(place.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, executable)
	if err == nil {
		_, err = file.WriteString(prePushHook)
		err = errors.Join(err, file.Close())
	}
	if err == nil && !within(place.file, repo.CommonDir) {
		s.Note("%s is a file of this working copy: other worktrees and clones have the hook once it is committed", plain.Text(place.file))
	}
	return new(err == nil), place.path, timeline.Explain(err)
}

// hookPlace is where the pre-push hook of a repository is, or would be.
type hookPlace struct {
	path     string // where git looks for the hook
	file     string // what the hook runs: the same, or the file of the user behind a hook that husky or lefthook has made
	line     string // what to add to file
	taken    bool   // there is a file
	searches bool   // the file searches for secrets
	none     bool   // git runs no hooks: core.hooksPath is no folder, or the root of the file system
	outside  bool   // git looks outside the repository, for example because the user's own configuration names one folder for all
}

// findHook asks git where the pre-push hook is, and looks what is there.
func findHook(ctx context.Context, s *session.Session, repo gitexec.Repo) (hookPlace, error) {
	git := gitexec.Process{Dir: repo.WorkTree, Env: gitexec.PlumbingEnv(s.Env), Args: []string{"rev-parse", "--git-path", "hooks/pre-push"}}
	git.Options = []string{"--git-dir=" + repo.GitDir, "--work-tree=" + repo.WorkTree} // git itself finds no repository in a jj workspace
	if git.Dir == "" {
		git.Dir, git.Options = repo.CommonDir, []string{"--git-dir=."}
	}
	out, _, err := git.Run(ctx)
	if err != nil {
		return hookPlace{}, timeline.Explain(err)
	}
	path := filepath.FromSlash(strings.TrimSuffix(string(out), "\n"))
	if !filepath.IsAbs(path) {
		path = filepath.Join(git.Dir, path)
	}
	p := hookPlace{path: path, file: path, line: prePushLine + " || exit", outside: !within(path, repo.CommonDir) && !within(path, repo.WorkTree)}
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); err == nil && !info.IsDir() || filepath.Dir(folder) == folder {
		p.none = true
		return p, nil
	}
	if _, err := os.Stat(filepath.Join(folder, "h")); err == nil && filepath.Base(folder) == "_" {
		p.file = filepath.Join(filepath.Dir(folder), "pre-push") // husky makes the folder _ anew, and its hooks run the files beside the folder
	}
	had, err := os.ReadFile(p.file)
	switch {
	case err == nil:
		p.taken, p.searches = true, strings.Contains(string(had), "git-smithers scan --pre-push")
	case !errors.Is(err, fs.ErrNotExist) && !p.outside:
		return p, timeline.Explain(err)
	}
	if strings.Contains(string(had), "call_lefthook") && !p.searches {
		p.file, p.line = filepath.Join(repo.WorkTree, "lefthook.yml"), lefthookLine // lefthook makes the hook anew from this file
		config, _ := os.ReadFile(p.file)
		p.searches = strings.Contains(string(config), "git-smithers scan --pre-push")
	}
	return p, nil
}

// within reports whether a path is below a folder, which may be "".
func within(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return folder != "" && err == nil && filepath.IsLocal(rest)
}
