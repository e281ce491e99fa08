package jjbridge

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Plan describes how a restore turns the captured files of the tree From into those of the tree To. A restore does not
// touch a path that is equal in both trees.
type Plan struct {
	From, To objstore.ID
	Changes  []PathChange // sorted by path
	Refused  []Refusal    // reasons against the restore; unless it is empty, Restore changes nothing
	Stay     []string     // files, equal in both, that Restore must not write again even if their attributes change

	edits      []edit   // sorted by path
	kept       []string // paths of From that stay although To lacks them
	modules    []moduleMove
	leftOut    []snapshot.LeftOut
	repository *objstore.Store // the caller's store; nil if the caller has no open store
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

// Refusal is one reason against a restore.
type Refusal struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // in words: "an ignored file is in the way", "submodule has uncommitted changes", …
}

// RefusedError is the error of a restore that was refused and changed no file.
type RefusedError struct{ Refused []Refusal }

// Error returns the first reason with its path, and the number of the other reasons. If e has no reason, Error returns
// the text of ErrRefused.
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

// ErrUnfinished is wrapped by the error of a restore that began but did not finish. Some files are then those of To,
// and others are still those of From. Both trees are stored, so the restore of either tree repairs the working copy.
var ErrUnfinished = errors.New("the working copy is restored only in part")

// Plan returns the plan of a restore that turns the files of captured into those of the tree target. It changes no
// file. captured is a new capture of this working copy, and not closed yet. The repository must have the objects of
// target. A file that target lacks stays if leftOut names the file, if the .gitignore files of target ignore it, or if
// git ignores it now: before the target was captured, it may not have been included.
// Reasons against the restore are in Plan.Refused, and are not an error.
//
// The error wraps objstore.ErrNotFound if an object of target is missing. It wraps ErrNoWorkingCopy if there is
// no working copy or captured has no tree, and objstore.ErrTreeSize if there are too many changes.
func (w *Workspace) Plan(ctx context.Context, captured *CapturedFiles, target objstore.ID, leftOut ...snapshot.LeftOut) (*Plan, error) {
	if w.Root == "" {
		return nil, ErrNoWorkingCopy
	}
	from := captured.VCS.Tree
	if from.IsZero() {
		return nil, fmt.Errorf("%w: the capture has no files", ErrNoWorkingCopy)
	}
	objects, err := captured.directory(ctx, w)
	if err != nil {
		return nil, err
	}
	plan := &Plan{From: from, To: target, objects: objects, leftOut: captured.VCS.LeftOut, repository: captured.repository}
	expected := captured.expected.of(from, target)
	if expected == nil {
		if expected, err = w.expect(ctx, plan, nil); err != nil {
			return nil, err
		}
	}
	plan.edits, plan.largest = slices.Clone(expected.edits), expected.largest
	ignored, err := plan.ignored(ctx, w, false)
	if err != nil {
		return nil, err
	}
	for _, e := range plan.edits {
		if captured.Included(e.path) {
			ignored = append(ignored, snapshot.LeftOut{Path: e.path})
		}
	}
	plan.keep(append(ignored, leftOut...))
	plan.Changes = make([]PathChange, len(plan.edits))
	for i, e := range plan.edits {
		plan.Changes[i] = e.change()
	}
	if plan.modules, plan.Refused, err = plan.refusals(ctx, w); err != nil {
		return nil, err
	}
	return plan, nil
}

// Settled reports whether a capture after a successful Restore gives exactly the tree p.To, provided that filters
// change no content. It returns false if p keeps a file that p.To lacks. It also returns false if p changes a
// submodule, .gitignore, .gitattributes or .gitmodules, because such a change affects other files.
func (p *Plan) Settled() bool {
	return len(p.kept) == 0 && !slices.ContainsFunc(p.edits, func(e edit) bool {
		name := path.Base(e.path)
		return e.from.isModule() || e.to.isModule() || name == ".gitignore" || name == ".gitattributes" || name == ".gitmodules"
	})
}

// Restore carries out plan. Afterwards the working copy has the files of plan.To as a checkout would write them. The
// files that were not captured, or that the plan leaves in place, stay. Restore writes no file outside of a sparse
// checkout. If the plan changes no path, Restore does nothing.
//
// The error is a *RefusedError, and no file was touched, if plan.Refused is not empty, if Restore finds a new reason,
// or if a file has changed since the capture. As soon as Restore writes files, the end of ctx no longer stops it. If it
// cannot finish then, the error wraps ErrUnfinished.
//
// HEAD, the branch and the user's index stay as they are. In a jj workspace, Restore ends with one snapshot, an
// operation that `jj undo` undoes. If it restores files that jj ignores, it runs two more commands of jj, which can add
// operations.
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
	// The files may have changed since the plan, and git would overwrite an ignored file at the path of a new file.
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

// restoreFiles makes the files of the working copy equal to those of plan.To. With git, it also checks out each other
// file whose attributes plan changes, except the files in plan.Stay. If a file has changed since the capture, or a filter that git
// requires fails, the error is a *RefusedError, and no file was touched. If git fails while it may write files, the error wraps ErrUnfinished.
// Any other error of git occurs before the first file is written.
func restoreFiles(ctx context.Context, w *Workspace, git *filesGit, plan *Plan) error {
	if err := git.begin(ctx, plan.From); err != nil {
		return err
	}
	from := plan.From
	// A zero from means the files of the index, which then differ from those of plan.From.
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
	if err := git.rehearse(ctx, plan, others); err != nil {
		return err
	}
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
