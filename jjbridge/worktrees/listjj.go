package worktrees

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
)

// workspacesTemplate prints the fields of one working-copy commit, each with a NUL at its end: the names of its
// workspaces, each followed by @, the commit id, the change id and the bookmarks. If the repository has a single
// workspace, jj prints no names. The template is for jj log, because the options and the output of jj workspace list
// differ between versions.
const workspacesTemplate = `working_copies ++ "\0" ++ commit_id ++ "\0" ++ change_id ++ "\0" ++ local_bookmarks.map(|b| b.name()).join("\n") ++ "\0"`

// jjWorkspaces returns jj's workspaces, the main workspace first. If jj's output has another form, the error wraps
// jjbridge.ErrJJTooOld.
func jjWorkspaces(ctx context.Context, w *jjbridge.Workspace) ([]Info, error) {
	out, _, err := w.RunJJ(ctx, "log", "--ignore-working-copy", "--no-graph", "--revisions=working_copies()", "--template="+workspacesTemplate)
	if err != nil {
		return nil, err
	}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	// workspacesTemplate prints four fields for each commit.
	if len(fields)%4 != 0 {
		return nil, fmt.Errorf("%w: unexpected output %q", jjbridge.ErrJJTooOld, out)
	}
	paths := w.WorkspacePaths()
	var list []Info
	for ; len(fields) > 0; fields = fields[4:] {
		names := workspaceNames(fields[0])
		// The repository has a single workspace, which is w.
		if len(names) == 0 {
			names = []string{w.Name}
		}
		bookmark, _, _ := strings.Cut(fields[3], "\n")
		for _, name := range names {
			info := Info{Name: name, Path: paths[name], CommitID: fields[1], ChangeID: fields[2], Branch: bookmark}
			info.Missing = info.Path != "" && isGone(info.Path)
			list = append(list, info)
		}
	}
	sortWorkspaces(list, w.Main())
	return list, nil
}

// workspaceNames returns the names in s. In s, each name is followed by @, and a space separates the names. jj quotes a
// name that is not a symbol in revsets.
func workspaceNames(s string) []string {
	var names []string
	for s != "" {
		var name string
		if quoted, err := strconv.QuotedPrefix(s); err == nil && strings.HasPrefix(s, `"`) {
			name, _ = strconv.Unquote(quoted) // QuotedPrefix returns only valid strings
			s = strings.TrimPrefix(s[len(quoted):], "@")
		} else {
			name, s, _ = strings.Cut(s, "@")
		}
		names = append(names, name)
		s = strings.TrimPrefix(s, " ")
	}
	return names
}
