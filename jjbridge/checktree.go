package jjbridge

import (
	"context"
	"errors"
	"os"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
)

// CheckTree checks that a checkout can write the files that the tree to has and the tree before has not, as a restore
// checks them. The trees may have objects of c. The error is a *RefusedError for a path that git or Restore never writes to.
func (w *Workspace) CheckTree(ctx context.Context, c *CapturedFiles, before, to objstore.ID) error {
	if err := c.scratch(ctx, w); err != nil {
		return err
	}
	job := &mergeJob{w: w, c: c, env: c.quarantine.GitEnv(objectsDir(w.Repo), w.env)}
	out, err := job.run(ctx, "", nil, diffTreeArgs(before.String(), to.String())...)
	if err != nil {
		return err
	}
	edits, err := parseEdits(out)
	if err != nil {
		return err
	}
	var refused []Refusal
	for _, e := range edits {
		if reason := badPath(e.path); reason != "" && e.to.exists() {
			refused = append(refused, Refusal{e.path, reason})
		}
	}
	if len(refused) > 0 {
		return &RefusedError{Refused: refused}
	}
	index, err := job.newIndex(ctx, to.String())
	if failed, ok := errors.AsType[*gitexec.Error](err); ok {
		if refused := readRefusals(failed.Stderr); len(refused) > 0 {
			return &RefusedError{Refused: refused}
		}
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(index.dir)
}
