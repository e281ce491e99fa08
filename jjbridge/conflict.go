package jjbridge

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
)

// RestoreConflict makes the files of a jj workspace that were in conflict in a commit conflicts again, as jj knows them. A
// restore has brought their text back before. It is one operation of jj's. The result is false, and nothing was touched, if
// the repository does not have the commit any more, the commit has no conflict, or the working copy is not jj's.
func RestoreConflict(ctx context.Context, w *Workspace, commit string) (done bool, err error) {
	if w.Type != snapshot.VCSJJ || commit == "" || strings.Trim(commit, "0123456789abcdef") != "" {
		return false, nil
	}
	out, _, err := w.RunJJ(ctx, "log", "--ignore-working-copy", "--no-graph", `--template=if(conflict, "conflict")`, "--revisions=present("+commit+")")
	if err != nil || string(out) != "conflict" {
		return false, err
	}
	out, _, err = w.RunJJ(ctx, "file", "list", "--ignore-working-copy", "--revision="+commit, `--template=if(self.conflict(), self.path() ++ "\0")`)
	paths := splitPaths(out)
	if err != nil || len(paths) == 0 {
		return false, err
	}
	args := []string{"restore", "--quiet", "--from=" + commit, "--"}
	for _, path := range paths {
		args = append(args, "root-file:"+quoteFileset(path))
	}
	_, _, err = w.RunJJ(ctx, args...)
	return err == nil, err
}
