package timeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/reset"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// explanation maps an error of a package that timeline imports to a code and a hint.
type explanation struct {
	target error      // compared with errors.Is
	code   fault.Code // the code of an error that is target
	hint   string     // "" adds no hint
}

// explanations are tried in order, and the first match decides. Specific causes therefore come before general causes.
var explanations = []explanation{
	{context.Canceled, fault.Interrupted, ""},
	{context.DeadlineExceeded, fault.Interrupted, ""},
	{syscall.ENOSPC, fault.DiskFull, "stored history is unharmed; free some space and try again"},
	{syscall.EDQUOT, fault.DiskFull, "the disk quota is used up; free some space and try again"},
	{syscall.EFBIG, fault.DiskFull, "raise the limit on the size of files: `ulimit -f` shows the limit"},
	{syscall.EROFS, fault.ReadOnly, "make the file system of the repository writable"},
	{syscall.EACCES, fault.ReadOnly, "check the owner and the permissions of the file"},
	{syscall.EPERM, fault.ReadOnly, "check the owner and the permissions of the file"},
	{jjbridge.ErrNoWorkingCopy, fault.NoWorkingCopy, "run the command inside a working copy"},
	{jjbridge.ErrNoJJ, fault.JJMissing, "this working copy is a jj workspace: install jj and put it on PATH"},
	{jjbridge.ErrJJTooOld, fault.JJTooOld, "install a newer jj"},
	{jjbridge.ErrNoStore, fault.NoRepository, "move the repository of this jj workspace back to the path in .jj/repo"},
	{jjbridge.ErrBackend, fault.UnsupportedFormat, "use a jj repository with a git store: run history is stored as git objects"},
	{worktrees.ErrUnsaved, fault.UnsavedWork, "commit the work in the worktree, or remove the worktree by hand"},
	{worktrees.ErrNoCommit, fault.WorktreeFailed, "make a first commit: `git commit --allow-empty`"},
	{worktrees.ErrBranch, fault.WorktreeFailed, "choose another name for the branch"},
	{worktrees.ErrWorktree, fault.WorktreeFailed, "choose a new or empty folder, a branch without another worktree, and a commit to start from"},
	{jjbridge.ErrStale, fault.JJFailed, "run `jj workspace update-stale`"},
	{gitexec.ErrNoGit, fault.GitMissing, "install git and put it on PATH"},
	{gitexec.ErrConfig, fault.Usage, "`git smithers help scripting` lists the settings"},
	{gitexec.ErrGitTooOld, fault.GitTooOld, "install git 2.34 or newer"},
	{gitexec.ErrNoRepository, fault.NoRepository, "run `git init`, or `git smithers init` to keep run history without a repository"},
	{snapshot.ErrNewerFormat, fault.NewerFormat, "this history was written by a newer git-smithers: upgrade"},
	{snapshot.ErrOlderFormat, fault.OlderFormat, "in a clone of git-smithers, `git checkout format-1 && make build` builds the version that reads this history"},
	{reset.ErrUnknownNode, fault.NodeNotFound, ""},
	{snapshot.ErrLimit, fault.LimitExceeded, "`git smithers help format` lists the limits"},
	{objstore.ErrTreeSize, fault.LimitExceeded, "`git smithers help format` lists the limits"},
	{snapshot.ErrInvalid, fault.InvalidState, "`git smithers help scripting` describes what a capture accepts"},
	{page.ErrInvalid, fault.InvalidState, "`git smithers help scripting` describes what a capture accepts"},
	{refs.ErrMalformed, fault.InvalidRunID, "give a run id of 1 to 4096 bytes of UTF-8 text"},
	{refs.ErrConflict, fault.Conflict, "run the command again: nothing was written"},
	{refs.ErrLocked, fault.Locked, "wait until the git process that holds the ref has ended; if that process was killed, `git smithers doctor --repair` moves the lock away when it is 10 minutes old"},
	{sqliteindex.ErrBusy, fault.IndexBusy, "run the command again when the process that has smithers/index.db or smithers/search.db open has ended: `fuser` names it; the index holds no history"},
	{refs.ErrUnsupported, fault.UnsupportedFormat, "run the command again when git has moved the refs: nothing was written"},
	{refs.ErrObstructed, fault.BrokenRef, "`git for-each-ref refs/smithers` lists the ref that is in the way, which git-smithers did not make"},
	{refs.ErrDamaged, fault.BrokenRef, "`git smithers doctor` shows the damage; put the file back from a copy of the repository, or clone anew and fetch the runs"},
	{refs.ErrBroken, fault.BrokenRef, "`git smithers doctor` shows the damage, and `git smithers doctor --repair` repairs the ref if its right value is known"},
	{objstore.ErrCorrupt, fault.CorruptObject, "`git smithers doctor --repair` rescues the readable objects, and fetches missing objects from a remote that has the run"},
	{objstore.ErrNotFound, fault.MissingObject, "`git smithers doctor --repair` rescues the readable objects, and fetches missing objects from a remote that has the run"},
}

// Explain returns err as a [fault.Error] with a code and hints. If err is nil, Explain returns nil. In other
// cases, the first rule that applies gives the code:
//   - If err wraps a [fault.Error], Explain returns the wrapped error, without the text around it.
//   - A refused restore is restore_refused.
//   - A git or jj command that SIGINT or SIGTERM ended is interrupted.
//   - An error that wraps a target in explanations has the code and the hint that belong to this target.
//   - Another failed git or jj command is git_failed or jj_failed.
//   - An error of the operating system is write_failed.
//
// Every other error is a bug: its code is internal.
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
		return fault.New(fault.WriteFailed, "%w", err).Hint("mend what the error names and try again: stored history is unharmed")
	}
	return fault.New(fault.Internal, "%w", err)
}

// explainRefused returns restore_refused for a restore that jjbridge refused. If refused lists several paths, hints
// name the first five paths with their reasons.
func explainRefused(refused *jjbridge.RefusedError) *fault.Error {
	const shown = 5
	out := fault.New(fault.RestoreRefused, "%w", refused).
		Hint("nothing was changed; move the files out of the way, then try again").
		Hint("or restore into another folder with `git smithers restore --to`").
		Detail("refused", refused.Refused)
	if len(refused.Refused) < 2 {
		return out
	}
	for _, r := range refused.Refused[:min(shown, len(refused.Refused))] {
		out = out.Hint("%s: %s", r.Path, r.Reason)
	}
	return out
}

// explainProgram returns git_failed or jj_failed for a failed command, in the words of git or jj. For jj, the message
// is the first line of jj's error output, followed by the cause, and a hint has the other lines. If jj wrote no error
// output, the message is failed's text. For git, see explainGit.
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

// explainGit returns an error with the given code for a failed git command. The message is the first fatal error
// in git's error output, and a hint has the other lines. If git reported no fatal error, the message is the text
// of the command's error, without a hint.
func explainGit(code fault.Code, git *gitexec.Error) *fault.Error {
	const fatal = "fatal: "
	out := &fault.Error{Code: code, Msg: git.Error(), Err: git}
	lines := slices.DeleteFunc(strings.Split(git.Stderr, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	ended := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, fatal) })
	if ended < 0 {
		return out
	}
	out.Msg = "git: " + strings.TrimPrefix(lines[ended], fatal)
	if strings.Contains(git.Stderr, "cannot lock references") {
		out = out.Hint("run the command again; if no git process is running, remove the file %s/tables.list.lock from the git directory: "+
			"a killed git left it (`git smithers doctor --repair` moves it away when it is 10 minutes old)", refs.TablesFolder)
	}
	if rest := strings.Fields(strings.Join(slices.Delete(lines, ended, ended+1), " ")); len(rest) > 0 {
		out = out.Hint("git said: %s", strings.Join(rest, " "))
	}
	return out
}
