package jjbridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// JJChange is a change of jj.
type JJChange struct {
	Change, Commit string
	Parents        []string // commit ids
	// Fresh is true if the change is empty and has neither a description nor a bookmark, as after `jj new`.
	Fresh    bool
	Conflict bool
}

// changeTemplate is a jj template that prints a JJChange, one field a line.
const changeTemplate = `self.change_id() ++ "\n" ++ self.commit_id() ++ "\n" ++ self.parents().map(|c| c.commit_id()).join(" ") ++ "\n" ++ ` +
	`if(self.empty() && !self.description() && !self.local_bookmarks(), "fresh") ++ "\n" ++ if(self.conflict(), "conflict") ++ "\n"`

// JJChangeAt returns the change that revset names, or nil if it names none. It takes no snapshot.
func (w *Workspace) JJChangeAt(ctx context.Context, revset string) (*JJChange, error) {
	out, _, err := w.RunJJ(ctx, "log", "--ignore-working-copy", "--no-graph", "--limit=1", "--template="+changeTemplate, "--revisions="+revset)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	lines := strings.Split(string(out), "\n")
	if len(lines) < 5 {
		return nil, fmt.Errorf("%w: unexpected output %q", ErrJJTooOld, out)
	}
	return &JJChange{
		Change: lines[0], Commit: lines[1], Parents: strings.Fields(lines[2]), Fresh: lines[3] != "", Conflict: lines[4] != "",
	}, nil
}

// JJConflicts returns the paths in conflict in the change that revset names, sorted.
func (w *Workspace) JJConflicts(ctx context.Context, revset string) ([]string, error) {
	out, _, err := w.RunJJ(ctx, "file", "list", "--ignore-working-copy", "--revision="+revset, `--template=if(self.conflict(), self.path() ++ "\0")`)
	return splitPaths(out), err
}

// JJIdentity returns the variables with which git makes commits with the name and the address that jj's configuration
// has. It returns nil if jj's configuration has none.
func (w *Workspace) JJIdentity(ctx context.Context) []string {
	name, _, nameErr := w.RunJJ(ctx, "config", "get", "user.name")
	address, _, addressErr := w.RunJJ(ctx, "config", "get", "user.email")
	who, at := strings.TrimSpace(string(name)), strings.TrimSpace(string(address))
	if nameErr != nil || addressErr != nil || who == "" {
		return nil
	}
	return []string{"GIT_AUTHOR_NAME=" + who, "GIT_AUTHOR_EMAIL=" + at, "GIT_COMMITTER_NAME=" + who, "GIT_COMMITTER_EMAIL=" + at}
}

// ImportToJJ makes a commit of git visible to jj, by a bookmark with the given name, which no branch must have.
func (w *Workspace) ImportToJJ(ctx context.Context, bookmark, commit string) error {
	if _, err := w.RunGit(ctx, "update-ref", "refs/heads/"+bookmark, commit, strings.Repeat("0", len(commit))); err != nil {
		return err
	}
	_, _, err := w.RunJJ(ctx, "git", "import", "--quiet")
	return err
}

// ForgetJJBookmark deletes a bookmark in jj and in git. A missing bookmark is no error.
func (w *Workspace) ForgetJJBookmark(ctx context.Context, bookmark string) error {
	out, _, err := w.RunJJ(ctx, "bookmark", "list", "--ignore-working-copy", "--template=name ++ \"\\n\"", "--", exactly(bookmark))
	if err == nil && len(out) > 0 {
		_, _, err = w.RunJJ(ctx, "bookmark", "delete", "--quiet", "--", exactly(bookmark))
	}
	if err != nil {
		return err
	}
	// In a repository that is not colocated, git still has the branch.
	_, err = w.RunGit(ctx, "update-ref", "-d", "refs/heads/"+bookmark)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status > 0 {
		return nil
	}
	return err
}

// exactly returns jj's pattern for the bookmark name alone. A newer jj reads operators such as | in a pattern without quotes;
// an older jj takes quotes for a part of the name, so usual names have none.
func exactly(name string) string {
	special := func(r rune) bool {
		return r < 0x80 && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_/.+@", r)
	}
	if !strings.ContainsFunc(name, special) {
		return "exact:" + name
	}
	return `exact:"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}

// CommitRoot makes a commit without parents.
func (w *Workspace) CommitRoot(ctx context.Context, tree, message string) (string, error) {
	out, err := w.gitWith(ctx, gitRun{args: []string{"commit-tree", "-F", "-", tree}, stdin: strings.NewReader(message)})
	return strings.TrimSpace(string(out)), err
}
