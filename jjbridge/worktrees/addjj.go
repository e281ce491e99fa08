package worktrees

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
)

// addJJ creates a jj workspace for req. list has the present workspaces. jj checks out the files. After a failure, addJJ forgets the workspace and removes the folders that it created.
func addJJ(ctx context.Context, w *jjbridge.Workspace, req AddRequest, list []Info) (*jjbridge.Workspace, error) {
	req.Name = cmp.Or(req.Name, filepath.Base(req.Path))
	if err := forgetStaleJJ(ctx, w, req, list); err != nil {
		return nil, err
	}
	start, err := startRevision(ctx, w, req)
	if err != nil {
		return nil, err
	}
	folder, err := makeFolder(req.Path)
	if err != nil {
		return nil, err
	}
	added, err := addWorkspaceJJ(ctx, w, req, start)
	if err != nil {
		err = errors.Join(err, dropJJ(context.WithoutCancel(ctx), w, req))
		folder.putBack()
		return nil, err
	}
	return added, nil
}

// addWorkspaceJJ creates the workspace at the commit startID and returns it. If req.Branch is not "", it also
// sets this bookmark.
func addWorkspaceJJ(ctx context.Context, w *jjbridge.Workspace, req AddRequest, startID string) (*jjbridge.Workspace, error) {
	if _, _, err := w.RunJJ(ctx, "workspace", "add", "--name="+req.Name, "--revision="+startID, "--", req.Path); err != nil {
		return nil, err
	}
	added, err := jjbridge.Locate(ctx, req.Path, gitexec.PlumbingEnv(w.Environ()))
	if err != nil || req.Branch == "" {
		return added, err
	}
	// The bookmark is set at the workspace's own commit, so that the bookmark follows the work, as a branch does. jj
	// still shows the commits to which the bookmark pointed before.
	_, _, err = added.RunJJ(ctx, "bookmark", "set", "--allow-backwards", "--revision=@", "--", req.Branch)
	return added, err
}

// dropJJ forgets the workspace of req, if jj has created the workspace already, and removes the content of the folder
// req.Path.
func dropJJ(ctx context.Context, w *jjbridge.Workspace, req AddRequest) error {
	list, err := jjWorkspaces(ctx, w)
	if err != nil {
		return err
	}
	for _, info := range list {
		if info.Name == req.Name {
			if _, _, err := w.RunJJ(ctx, "workspace", "forget", "--", req.Name); err != nil {
				return err
			}
		}
	}
	return removeContent(req.Path)
}

// forgetStaleJJ forgets the workspaces with the name or the path of req. No commit is lost, because jj still shows the
// commits. If such a workspace is w, or if its folder exists at a path other than req.Path, the error is an *Error. A
// folder that jj does not know counts as missing. list has the present workspaces.
func forgetStaleJJ(ctx context.Context, w *jjbridge.Workspace, req AddRequest, list []Info) error {
	for _, info := range list {
		switch {
		case info.Name != req.Name && info.Path != req.Path:
			continue
		case info.Name == w.Name || (info.Path != "" && info.Path != req.Path && !info.Missing):
			return &Error{Path: req.Path, Reason: fmt.Sprintf("the workspace %q already exists, at %s", info.Name, info.Path)}
		}
		if err := forgetJJ(ctx, w, info); err != nil {
			return err
		}
	}
	return nil
}

// startRevision returns the id of the start commit for req. If git has req.Commit, the start commit is the newest
// commit in the revset of nearest. Otherwise it is the first commit that exists among the branches that bases returns
// and @-, the parent of @. For each name of a branch, the local bookmark comes before the remote bookmark. If there is
// no start commit, the error is an *Error.
func startRevision(ctx context.Context, w *jjbridge.Workspace, req AddRequest) (string, error) {
	if !req.Commit.IsZero() {
		revset, err := nearest(ctx, w, req.Commit.String())
		if err != nil {
			return "", err
		}
		if revset != "" {
			return oneRevision(ctx, w, req.Path, revset)
		}
	}
	var revsets []string
	for _, base := range bases(req.Base) {
		revsets = append(revsets, local(base), remote(base))
	}
	return oneRevision(ctx, w, req.Path, "coalesce("+strings.Join(append(revsets, "@-"), ", ")+")")
}

// oneRevision returns the id of the newest commit in revset. If revset is empty, the error is an *Error about
// path.
func oneRevision(ctx context.Context, w *jjbridge.Workspace, path, revset string) (string, error) {
	out, _, err := w.RunJJ(ctx, "log", "--no-graph", "--limit=1", "--template=commit_id", "--revisions=latest("+revset+")")
	commit := strings.TrimSpace(string(out))
	if err == nil && commit == "" {
		err = &Error{Path: path, Reason: "there is no commit to start from"}
	}
	return commit, err
}

// maxAncestors is the number of commits among which nearest looks for a commit that jj still shows.
const maxAncestors = 200

// nearest returns a revset of the given commit, or of its nearest ancestors that jj shows. If git has no such commit,
// it returns "". nearest leaves out hidden commits, because jj would show such a commit again beside its successor. It
// also leaves out each workspace's own commit, which keeps changing. If no commit is left among the first maxAncestors,
// the revset is jj's root commit.
func nearest(ctx context.Context, w *jjbridge.Workspace, commit string) (string, error) {
	out, err := w.RunGit(ctx, "rev-list", fmt.Sprintf("--max-count=%d", maxAncestors), commit)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status > 0 && ctx.Err() == nil {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	known := []string{"root()"}
	for id := range strings.FieldsSeq(string(out)) {
		known = append(known, "present("+id+")")
	}
	return "heads(::(" + strings.Join(known, "|") + ") & ::visible_heads() ~ working_copies())", nil
}

// local returns a revset for base that is empty if jj does not know base. If base is a name, the revset is the commit
// of the bookmark, tag or id with this name. If base is "HEAD", the revset is @-. Any other base is a revset already.
func local(base string) string {
	switch {
	case base == "HEAD":
		return "present(@-)"
	case isSymbol(base):
		return "present(" + quote(base) + ")"
	}
	return "present(" + base + ")"
}

// remote returns a revset of the bookmark base on origin. If origin lacks the bookmark, and base is <remote>/<bookmark>
// as in git, the revset is the bookmark on this remote. If no such bookmark exists, the revset is empty. If base is not
// a single name, remote returns none().
func remote(base string) string {
	if !isSymbol(base) {
		return "none()"
	}
	revset := "present(" + quote(base) + "@" + quote("origin") + ")"
	if name, bookmark, ok := strings.Cut(base, "/"); ok {
		revset = "coalesce(" + revset + ", present(" + quote(bookmark) + "@" + quote(name) + "))"
	}
	return revset
}

// isSymbol reports whether s is a single name in a revset, not an expression. A final - or +, and two dots, are
// operators of an expression.
func isSymbol(s string) bool {
	outside := func(r rune) bool {
		return r < 0x80 && !strings.ContainsRune("-+./_", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	return s != "" && !strings.ContainsFunc(s, outside) && !strings.ContainsAny(s[len(s)-1:], "-+") && !strings.Contains(s, "..")
}

// quote returns name as a string literal in the language of revsets.
func quote(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}
