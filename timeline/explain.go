package timeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/snapshot/reset"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// explanation maps an error of the packages below to a code and a hint.
type explanation struct {
	target error
	code   fault.Code
	hint   string
}

// explanations are tried in order and the first match wins, so specific causes stand before general ones.
var explanations = []explanation{
	{context.Canceled, fault.Interrupted, ""},
	{context.DeadlineExceeded, fault.Interrupted, ""},
	{syscall.ENOSPC, fault.DiskFull, "stored history is unharmed; free some space and try again"},
	{syscall.EDQUOT, fault.DiskFull, "the disk quota is used up; free some space and try again"},
	{syscall.EFBIG, fault.DiskFull, "a limit on the size of files is reached: `ulimit -f` shows it"},
	{syscall.EROFS, fault.ReadOnly, "the repository is on a read-only file system"},
	{syscall.EACCES, fault.ReadOnly, "this user lacks the permission"},
	{syscall.EPERM, fault.ReadOnly, "this user lacks the permission"},
	{jjbridge.ErrNoWorkingCopy, fault.NoWorkingCopy, "run the command inside a working copy"},
	{jjbridge.ErrNoJJ, fault.JJMissing, "this working copy is a jj workspace: install jj and put it on PATH"},
	{jjbridge.ErrJJTooOld, fault.JJTooOld, "install a newer jj"},
	{jjbridge.ErrNoStore, fault.NoRepository, "the repository that this jj workspace belongs to was moved or removed; .jj/repo says where it was"},
	{jjbridge.ErrBackend, fault.UnsupportedFormat, "run history is kept in git's objects: use a jj repository with a git store"},
	{worktrees.ErrUnsaved, fault.UnsavedWork, "commit the work there, or remove the worktree by hand"},
	{worktrees.ErrWorktree, fault.WorktreeFailed, "a worktree needs a new or empty folder, a branch that is checked out nowhere else, and a commit to start from"},
	{jjbridge.ErrStale, fault.JJFailed, "run `jj workspace update-stale`"},
	{gitexec.ErrNoGit, fault.GitMissing, "install git and put it on PATH"},
	{gitexec.ErrConfig, fault.Usage, "`git smithers help scripting` lists the settings"},
	{gitexec.ErrGitTooOld, fault.GitTooOld, "install git 2.30 or newer"},
	{gitexec.ErrNoRepository, fault.NoRepository, "run `git init`, or `git smithers init` to keep run history alone"},
	{snapshot.ErrNewerFormat, fault.NewerFormat, "this history was written by a newer git-smithers: upgrade"},
	{reset.ErrUnknownNode, fault.NodeNotFound, ""},
	{snapshot.ErrLimit, fault.LimitExceeded, "`git smithers help format` lists the limits"},
	{objstore.ErrTreeSize, fault.LimitExceeded, "`git smithers help format` lists the limits"},
	{snapshot.ErrInvalid, fault.InvalidState, "`git smithers help scripting` describes what a capture accepts"},
	{page.ErrInvalid, fault.InvalidState, "`git smithers help scripting` describes what a capture accepts"},
	{refs.ErrMalformed, fault.InvalidRunID, "a run id is 1 to 4096 bytes of text"},
	{refs.ErrConflict, fault.Conflict, "nothing was written; it is safe to try again"},
	{refs.ErrLocked, fault.Locked, "another git process holds the ref; try again when it is done, or see `git smithers doctor` if it died"},
	{refs.ErrUnsupported, fault.UnsupportedFormat, "run history needs a repository with sha1 objects and refs in files"},
	{refs.ErrObstructed, fault.BrokenRef, "`git for-each-ref refs/smithers` shows the ref that is in the way; git-smithers did not make it"},
	{refs.ErrBroken, fault.BrokenRef, "`git smithers doctor` shows the right value, and repairs it"},
	{objstore.ErrCorrupt, fault.CorruptObject, "`git smithers doctor` saves what can be saved, and fetches the rest from a remote that has the run"},
	{objstore.ErrNotFound, fault.MissingObject, "`git smithers doctor` saves what can be saved, and fetches the rest from a remote that has the run"},
}

// Explain turns an error of the packages below into a [fault.Error] with a code and hints. An error that wraps a
// [fault.Error] becomes that error; nil stays nil. An unknown error that comes neither from git or jj nor from the
// operating system is a bug (internal).
func Explain(err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return known
	}
	if refused, ok := errors.AsType[*jjbridge.RefusedError](err); ok {
		return explainRefused(refused)
	}
	if git, ok := errors.AsType[*gitexec.Error](err); ok && git.Stopped() {
		return fault.New(fault.Interrupted, "%w", err)
	}
	for _, e := range explanations {
		if !errors.Is(err, e.target) {
			continue
		}
		out := fault.New(e.code, "%w", err)
		if e.hint != "" {
			out = out.Hint("%s", e.hint)
		}
		return out
	}
	if git, ok := errors.AsType[*gitexec.Error](err); ok {
		return explainProgram(git)
	}
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		return fault.New(fault.WriteFailed, "%w", err).Hint("stored history is unharmed")
	}
	return fault.New(fault.Internal, "%w", err)
}

// explainRefused explains a refused restore. If several paths stand in the way, hints name the first of them.
func explainRefused(refused *jjbridge.RefusedError) *fault.Error {
	const shown = 5
	out := fault.New(fault.RestoreRefused, "%w", refused).
		Hint("no file was touched; move what is in the way, or restore into another folder with `git smithers restore --to`").
		Detail("refused", refused.Refused)
	if len(refused.Refused) < 2 {
		return out
	}
	for _, r := range refused.Refused[:min(shown, len(refused.Refused))] {
		out = out.Hint("%s: %s", r.Path, r.Reason)
	}
	return out
}

// explainProgram explains a failed git or jj command in the program's own words.
func explainProgram(failed *gitexec.Error) *fault.Error {
	if failed.Program != "jj" {
		return explainGit(fault.GitFailed, failed)
	}
	out := &fault.Error{Code: fault.JJFailed, Msg: failed.Error(), Err: failed}
	first, rest, _ := strings.Cut(failed.Stderr, "\n")
	if first != "" {
		out.Msg = "jj: " + strings.TrimPrefix(first, "Error: ")
	}
	if cause, ok := strings.CutPrefix(rest, "Caused by: "); ok {
		cause, rest, _ = strings.Cut(cause, "\n")
		out.Msg += ": " + cause
	}
	if rest := strings.Fields(rest); len(rest) > 0 {
		out = out.Hint("jj said: %s", strings.Join(rest, " "))
	}
	return out
}

// explainGit explains a failed git command in git's own words: the message is git's fatal error, and a hint has the
// other lines.
func explainGit(code fault.Code, git *gitexec.Error) *fault.Error {
	const fatal = "fatal: "
	out := &fault.Error{Code: code, Msg: git.Error(), Err: git}
	lines := slices.DeleteFunc(strings.Split(git.Stderr, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	ended := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, fatal) })
	if ended < 0 {
		return out
	}
	out.Msg = "git: " + strings.TrimPrefix(lines[ended], fatal)
	if rest := strings.Fields(strings.Join(slices.Delete(lines, ended, ended+1), " ")); len(rest) > 0 {
		out = out.Hint("git said: %s", strings.Join(rest, " "))
	}
	return out
}
