package jjbridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Plan is what a restore does to a working copy: how the captured files of From become those of To.
// It does not touch a path that is the same in both.
type Plan struct {
	From, To objstore.ID
	Changes  []PathChange // sorted by path
	Refused  []Refusal    // reasons against the restore; if there are any, nothing is done
	Stay     []string     // files that are the same in both, and must not be written although their attributes change

	edits      []edit
	kept       []string // paths of From that stay although To lacks them
	modules    []moduleMove
	leftOut    []snapshot.LeftOut
	index      fs.FileInfo     // of the private index, if its tree is From; else nil
	repository *objstore.Store // the caller's; nil if it has none open
	objects    string          // an object directory with those objects of From that the repository lacks
	largest    int64           // bytes of the largest new file
}

// PathChange is one path that a restore changes.
type PathChange struct {
	Path string `json:"path"`
	Op   string `json:"op"` // OpAdd, OpModify, OpRemove
}

// The operations of a restore on a path.
const (
	OpAdd    = "add"
	OpModify = "modify" // content, mode or kind
	OpRemove = "remove"
)

// Refusal is one reason why a restore would do harm.
type Refusal struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // in words: "an ignored file is in the way", "submodule has uncommitted changes", …
}

// RefusedError has the reasons why a restore was not done. Nothing was touched.
type RefusedError struct{ Refused []Refusal }

// Error returns the first reason and the number of the others.
func (e *RefusedError) Error() string {
	if len(e.Refused) == 0 {
		return ErrRefused.Error()
	}
	first := e.Refused[0]
	text := ErrRefused.Error() + ": " + first.Reason
	if first.Path != "" {
		text = ErrRefused.Error() + ": " + first.Path + ": " + first.Reason
	}
	if more := len(e.Refused) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// Unwrap returns ErrRefused.
func (e *RefusedError) Unwrap() error { return ErrRefused }

// ErrUnfinished is wrapped by the error of a restore that began and did not finish: some files are
// those of To, others still those of From. Both are stored, so restoring either repairs the working
// copy.
var ErrUnfinished = errors.New("the working copy is restored only in part")

// Plan compares have, which Capture has just made of this working copy and which is not closed yet,
// with the tree want, whose objects are in the repository. The paths that left names stay as they
// are. Plan changes nothing. The error wraps objstore.ErrNotFound if an object of want is missing.
func (w *Workspace) Plan(ctx context.Context, have *Captured, want objstore.ID, left ...snapshot.LeftOut) (*Plan, error) {
	if w.Root == "" {
		return nil, ErrNoWorkingCopy
	}
	from := have.VCS.Tree
	if from.IsZero() {
		return nil, fmt.Errorf("%w: its files were not captured", ErrNoWorkingCopy)
	}
	objects, err := have.directory(ctx, w)
	if err != nil {
		return nil, err
	}
	plan := &Plan{From: from, To: want, objects: objects, index: have.index, leftOut: have.VCS.LeftOut, repository: have.repository}
	if plan.edits, err = plan.compare(ctx, w); err != nil {
		return nil, err
	}
	ignored, err := plan.ignored(ctx, w)
	if err != nil {
		return nil, err
	}
	plan.keep(append(ignored, left...))
	plan.Changes = make([]PathChange, len(plan.edits))
	for i, e := range plan.edits {
		plan.Changes[i] = e.change()
	}
	if plan.largest, err = present(ctx, w, plan.edits); err != nil {
		return nil, err
	}
	if plan.modules, plan.Refused, err = plan.refusals(ctx, w); err != nil {
		return nil, err
	}
	return plan, nil
}

// Settled reports whether a capture after a successful Restore would give exactly the tree To,
// apart from filters. That is so if no path stays that To lacks, and no changed path affects other
// files, as .gitignore does.
func (p *Plan) Settled() bool {
	return len(p.kept) == 0 && !slices.ContainsFunc(p.edits, func(e edit) bool {
		name := path.Base(e.path)
		return e.from.isModule() || e.to.isModule() || name == ".gitignore" || name == ".gitattributes" || name == ".gitmodules"
	})
}

// Restore carries out a plan. Afterwards the working copy has exactly the files of plan.To, as a
// checkout would write them, and all files that plan.From did not have. A file that has changed
// since the capture is never overwritten: the error is a *RefusedError and nothing is touched.
//
// HEAD, branch and the user's index stay as they are. With jj, Restore ends with one snapshot, an
// operation that `jj undo` undoes. Once it has begun, the end of ctx does not stop it. If it
// cannot finish, the error wraps ErrUnfinished.
func (w *Workspace) Restore(ctx context.Context, plan *Plan) (err error) {
	if len(plan.Refused) > 0 {
		return &RefusedError{Refused: plan.Refused}
	}
	if len(plan.edits) == 0 {
		return ctx.Err()
	}
	index, err := w.lockIndex(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Unlock()) }()
	git, err := w.filesGit(index, plan.objects)
	if err != nil {
		return err
	}
	// This is checked again, because git would overwrite an ignored file in the way.
	modules, refused, err := plan.refusals(ctx, w)
	if err != nil {
		return err
	}
	if len(refused) > 0 {
		return &RefusedError{Refused: refused}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := restoreFiles(ctx, w, git, plan); err != nil {
		return err
	}
	for _, m := range modules {
		if err := m.checkout(ctx, w); err != nil {
			return fmt.Errorf("%w: %w", ErrUnfinished, err)
		}
	}
	if w.Type == snapshot.VCSJJ {
		return plan.snapshot(ctx, w, index.Dir)
	}
	return nil
}

// restoreFiles makes the files those of plan.To. If the plan changes attributes, other files that
// they affect are checked out again, too.
func restoreFiles(ctx context.Context, w *Workspace, git *filesGit, plan *Plan) error {
	if err := git.begin(ctx, plan.From, plan.index); err != nil {
		return err
	}
	from := plan.From
	if len(plan.kept) > 0 {
		from = objstore.ID{}
		if err := git.forget(ctx, plan.kept); err != nil {
			return err
		}
	}
	if w.Type == snapshot.VCSJJ {
		return git.switchTree(ctx, from, plan.To)
	}
	if skipped, err := git.skip(ctx, plan.edits); err != nil {
		return err
	} else if skipped {
		from = objstore.ID{}
	}
	others, err := git.reattributed(ctx, plan.edits)
	if err != nil {
		return err
	}
	others = slices.DeleteFunc(others, func(name string) bool { return slices.Contains(plan.Stay, name) })
	if len(others) == 0 {
		return git.switchTree(ctx, from, plan.To)
	}
	before, err := git.attributes(ctx, others)
	if err != nil {
		return err
	}
	if err := git.switchTree(ctx, from, plan.To); err != nil {
		return err
	}
	if err := git.checkOutAgain(ctx, plan.To, others, before); err != nil {
		return fmt.Errorf("%w: %w", ErrUnfinished, err)
	}
	return nil
}
