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

// addJJ makes a jj workspace. jj checks out its files, and makes no git worktree.
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

// addWorkspaceJJ makes the workspace, and sets its bookmark.
func addWorkspaceJJ(ctx context.Context, w *jjbridge.Workspace, req AddRequest, start string) (*jjbridge.Workspace, error) {
	if _, _, err := w.RunJJ(ctx, "workspace", "add", "--name="+req.Name, "--revision="+start, "--", req.Path); err != nil {
		return nil, err
	}
	added, err := jjbridge.Locate(ctx, req.Path, gitexec.PlumbingEnv(w.Environ()))
	if err != nil || req.Branch == "" {
		return added, err
	}
	// The bookmark is at the workspace's own commit, so that it moves on with the work, as a branch
	// does. jj still shows the commits that had the bookmark before.
	_, _, err = added.RunJJ(ctx, "bookmark", "set", "--allow-backwards", "--revision=@", "--", req.Branch)
	return added, err
}

// dropJJ removes a workspace that was just made, or was made in part.
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

// forgetStaleJJ forgets workspaces that are in the way of the new one. Nothing is lost, because jj
// still shows their commits. If jj does not know the folder of a workspace with the same name,
// the folder counts as gone.
func forgetStaleJJ(ctx context.Context, w *jjbridge.Workspace, req AddRequest, list []Info) error {
	for _, info := range list {
		switch {
		case info.Name != req.Name && info.Path != req.Path:
			continue
		case info.Name == w.Name || (info.Path != "" && info.Path != req.Path && !info.Missing):
			return &Error{Path: req.Path, Reason: fmt.Sprintf("there is a workspace %q already, at %s", info.Name, info.Path)}
		}
		if _, _, err := w.RunJJ(ctx, "workspace", "forget", "--", info.Name); err != nil {
			return err
		}
	}
	return nil
}

// startRevision returns the commit to start from.
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

// oneRevision returns the commit that a revset names; of several commits, the newest.
func oneRevision(ctx context.Context, w *jjbridge.Workspace, path, revset string) (string, error) {
	out, _, err := w.RunJJ(ctx, "log", "--no-graph", "--limit=1", "--template=commit_id", "--revisions=latest("+revset+")")
	commit := strings.TrimSpace(string(out))
	if err == nil && commit == "" {
		err = &Error{Path: path, Reason: "there is no commit to start from"}
	}
	return commit, err
}

// maxAncestors bounds how far back the search for a commit goes that jj still shows.
const maxAncestors = 200

// nearest returns a revset of the commit, or of its nearest ancestors that jj shows, or "" if git
// has no such commit. jj would make a hidden commit visible again, beside its successor. A commit
// that is a working copy keeps changing, and so do the commits on it.
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

// local returns the revset of a local name: a bookmark, a tag, an id, or a revset.
func local(base string) string {
	switch {
	case base == "HEAD":
		return "present(@-)"
	case isSymbol(base):
		return "present(" + quote(base) + ")"
	}
	return "present(" + base + ")"
}

// remote returns the revset of a bookmark on origin, or of a name with its remote first, as in git.
// It returns none() for other strings.
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

// isSymbol reports whether s is a single name in a revset, and not an expression. A sign at its end
// would be an operator.
func isSymbol(s string) bool {
	outside := func(r rune) bool {
		return r < 0x80 && !strings.ContainsRune("-+./_", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	return s != "" && !strings.ContainsFunc(s, outside) && !strings.ContainsAny(s[len(s)-1:], "-+") && !strings.Contains(s, "..")
}

// quote returns a name as a string literal of a revset.
func quote(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}
