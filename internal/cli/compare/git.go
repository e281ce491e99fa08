package compare

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/git-smithers/git-smithers/internal/cli/interrupt"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// WhereForGit returns the options that git needs to find the repository, or nil if git finds the repository by itself.
// Git needs options in two places: in a jj workspace without a folder .git, and in a store that has only run history.
func WhereForGit(ctx context.Context, s *session.Session, store *timeline.Store) ([]string, error) {
	here, err := jjbridge.Locate(ctx, s.Dir, s.Env)
	if fault.CodeOf(timeline.Explain(err)) == fault.NoRepository {
		return []string{"--git-dir=" + store.Repo().CommonDir}, nil
	}
	if err != nil || here.Type != snapshot.VCSJJ {
		return nil, timeline.Explain(err)
	}
	return []string{"--git-dir=" + here.Repo.GitDir, "--work-tree=" + here.Root}, nil
}

// HandOver runs git with args, and waits until git ends. Git writes to the output of this process, and has no input.
//
// HandOver ignores interrupts (Ctrl-C), because the terminal also sends each interrupt to git and its pager, which
// decide whether to end. It passes SIGTERM on to git, because only this process receives SIGTERM. The errors are those
// of gitDiffFailed.
func HandOver(ctx context.Context, s *session.Session, args []string) error {
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	// The call at the end of this statement stops AfterFunc when HandOver returns.
	defer context.AfterFunc(ctx, func() {
		if sig, ok := errors.AsType[*interrupt.Error](context.Cause(ctx)); ok && sig.Signal == syscall.SIGTERM {
			end()
		}
	})()
	cmd := exec.CommandContext(running, "git", args...)
	// The end of running sends SIGTERM to git, instead of killing it.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Dir, gitexec.AbsolutePaths(s.Env), nil, s.RawOut(), s.Err
	keys := make(chan os.Signal, 1)
	signal.Notify(keys, os.Interrupt)
	defer signal.Stop(keys)
	return gitDiffFailed(ctx, cmd.Run())
}

// gitDiffFailed returns the error of a git diff command. err is the result of running the command. If err is nil,
// gitDiffFailed returns nil. Otherwise the error is that of ctx if ctx has ended, term.ErrOutputClosed if the user
// closed the pager, and git_failed in all other cases.
func gitDiffFailed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGPIPE {
			return term.ErrOutputClosed
		}
	}
	return fault.New(fault.GitFailed, "git diff failed: %w", err).Hint("see the message of git above")
}

// readNameStatus returns the changed paths in out, which is the output of git diff-tree -z --name-status. A change that
// is neither an addition nor a removal is a modification.
func readNameStatus(out string) []jjbridge.PathChange {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	var list []jjbridge.PathChange
	for i := 0; i+1 < len(fields); i += 2 {
		op := jjbridge.OpModify
		switch fields[i] {
		case "A":
			op = jjbridge.OpAdd
		case "D":
			op = jjbridge.OpRemove
		}
		list = append(list, jjbridge.PathChange{Path: fields[i+1], Op: op})
	}
	return list
}
