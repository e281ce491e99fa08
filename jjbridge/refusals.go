package jjbridge

import (
	"cmp"
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
)

// refusals returns the reasons against the restore p, sorted by path. If there are no reasons, it returns the
// submodules that p moves. In a jj workspace there are no such submodules. refusals reads the working copy anew at each
// call.
func (p *Plan) refusals(ctx context.Context, w *Workspace) ([]moduleMove, []Refusal, error) {
	found := newObstacles(w.Root, p.edits, foldsCase(w), p.leftOut)
	found.find()
	refused := found.refused
	var moves []moduleMove
	if w.Type == snapshot.VCSJJ {
		sparse, err := sparseRefusals(ctx, w, p.edits)
		if err != nil {
			return nil, nil, err
		}
		refused = append(append(refused, jjRefusals(p.edits)...), sparse...)
	} else {
		var more []Refusal
		var err error
		if moves, more, err = moduleMoves(ctx, w, w.Root, "", p.edits); err != nil {
			return nil, nil, err
		}
		refused = append(refused, more...)
	}
	if len(refused) == 0 {
		return moves, nil, nil
	}
	if err := tellIgnored(ctx, w, refused); err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(refused, func(a, b Refusal) int { return cmp.Compare(a.Path, b.Path) })
	return nil, refused, nil
}

// jjRefusals returns a refusal for each edit of a submodule, because jj does not change submodules.
func jjRefusals(edits []edit) []Refusal {
	var refused []Refusal
	for _, e := range edits {
		if e.from.isModule() || e.to.isModule() {
			refused = append(refused, Refusal{e.path, "jj does not change submodules"})
		}
	}
	return refused
}

// foldsCase reports whether git's setting core.ignoreCase is true, which means that the file system ignores case. An
// invalid setting counts as false.
func foldsCase(w *Workspace) bool {
	fold, err := w.Repo.Config.Bool("core.ignoreCase", false)
	return err == nil && fold
}

// tellIgnored looks for refusals whose reason is an uncaptured file. If git ignores the file, tellIgnored changes the
// reason in refused to an ignored file. If git fails although ctx has not ended, the reasons stay as they are.
func tellIgnored(ctx context.Context, w *Workspace, refused []Refusal) error {
	paths := make([]string, len(refused))
	for i, r := range refused {
		paths[i] = r.Path
	}
	ignored, err := w.Ignores(ctx, paths)
	if err != nil {
		return err
	}
	for i, r := range refused {
		if ignored[r.Path] && r.Reason == unrecorded("file") {
			refused[i].Reason = "an ignored file is in the way"
		}
	}
	return nil
}
