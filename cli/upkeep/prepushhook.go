package upkeep

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/cli/session"
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
)

// offerHook installs the pre-push hook, unless there is one. If want is false, offerHook first asks the person at the terminal; without
// a terminal, it does nothing. It never changes a hook of the user: it says which line to add.
//
// The result reports whether the hook is there now. It is nil if the repository has no commits of the user to push.
func offerHook(ctx context.Context, s *session.Session, repo gitexec.Repo, want bool) (*bool, error) {
	out, err := gitexec.New(repo, s.Env).Run(ctx, "rev-parse", "--git-path", "hooks")
	if err != nil {
		return nil, timeline.Explain(err)
	}
	folder := strings.TrimSuffix(string(out), "\n")
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(repo.CommonDir, folder)
	}
	path := filepath.Join(folder, "pre-push")
	had, err := os.ReadFile(path)
	switch {
	case err == nil && strings.Contains(string(had), "git-smithers scan --pre-push"):
		return new(true), nil
	case err == nil:
		if want {
			s.Note("%s is a hook of yours and was not changed; add this line to it: %s || exit", plain.Text(path), prePushLine)
		}
		return new(false), nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, timeline.Explain(err)
	}
	if !want {
		if !s.CanAsk() {
			return new(false), nil
		}
		if want, err = s.Ask("Install a pre-push hook, so that a plain git push carries no secrets of runs?"); err != nil || !want {
			return new(false), err
		}
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, timeline.Explain(err)
	}
	const executable = 0o777
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, executable)
	if err == nil {
		_, err = file.WriteString(prePushHook)
		err = errors.Join(err, file.Close())
	}
	return new(err == nil), timeline.Explain(err)
}
