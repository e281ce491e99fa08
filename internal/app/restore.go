package app

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/peer/agent"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/timeline"
)

// Restore restores the files of a frame in place, and returns the changes. With req.DryRun, it only returns the
// changes. If the run's newest state lacks the current files, Restore saves the current files as a frame before it
// changes them. See files.Restore for the codes of errors.
func (d *Desk) Restore(ctx context.Context, req files.RestoreRequest) (*files.RestoreResult, error) {
	over := d.Teller.While(RestoringFiles)
	defer over()
	req.Confirm = confirming(req.Confirm, over)
	return files.Restore(ctx, d.Store, req)
}

// RestoreOwn restores as Restore does, but only the files that the calls of tools of a session name.
func (d *Desk) RestoreOwn(ctx context.Context, req files.RestoreRequest) (*files.RestoreResult, error) {
	at, err := d.Store.Load(ctx, req.From)
	if err != nil {
		return nil, err
	}
	if req.Only, err = agent.OwnPaths(at, d.Store.Workspace().Root); err != nil {
		return nil, err
	}
	return d.Restore(ctx, req)
}

// Revert restores the files in place as they were after an attempt, and returns the changes. With req.DryRun, it only
// returns the changes. If the run's newest state lacks the current files, Revert saves the current files as a frame
// before it changes them. See files.Revert for the codes of errors.
func (d *Desk) Revert(ctx context.Context, req files.RevertRequest) (*files.RestoreResult, error) {
	over := d.Teller.While(RestoringFiles)
	defer over()
	req.Confirm = confirming(req.Confirm, over)
	return files.Revert(ctx, d.Store, req)
}

// CheckOut makes a new working copy with the files of a frame. req.Dir may be relative to the desk's folder, or "" for
// a default folder. See files.Checkout for the codes of errors.
func (d *Desk) CheckOut(ctx context.Context, req files.CheckoutRequest) (*files.CheckoutResult, error) {
	if req.Dir != "" {
		req.Dir = d.Folder.Path(req.Dir)
	}
	over := d.Teller.While(CheckingOut)
	defer over()
	return files.Checkout(ctx, d.Store, req)
}

// CheckOutWhole makes a new working copy as CheckOut does, and equips it (see Equip). With the error setup_failed, the working copy is there.
func (d *Desk) CheckOutWhole(ctx context.Context, req files.CheckoutRequest) (*files.CheckoutResult, files.Equipped, error) {
	made, err := d.CheckOut(ctx, req)
	if err != nil {
		return nil, files.Equipped{}, err
	}
	done, err := d.Equip(ctx, made.WorkingCopy, files.Equipment{})
	return made, done, err
}

// checkOutFor makes a new working copy with the files of the frame at the address from, and passes a note about it to
// the teller. id is the id of the run that will use the working copy. dir is the folder of the working copy; if dir is
// "", the working copy gets a default folder.
func (d *Desk) checkOutFor(ctx context.Context, id string, from timeline.Address, dir string) (*files.CheckoutResult, error) {
	made, err := d.CheckOut(ctx, files.CheckoutRequest{From: from.String(), Dir: dir, Name: id, Run: id, Own: true})
	if err == nil {
		d.Teller.Note(ctx, CheckedOutNote{made})
	}
	return made, err
}

// discard removes a working copy that was made for a run, because the run could not be created. It works even if ctx
// has ended. It does nothing if made is nil.
func discard(ctx context.Context, made *files.CheckoutResult) error {
	if made == nil {
		return nil
	}
	return made.Discard(context.WithoutCancel(ctx))
}

// FrameBefore returns the frame that has the files as they were before the restore done. It returns nil if the restore
// changed no file, or if it neither saved nor recorded a frame.
func FrameBefore(done *files.RestoreResult) *timeline.Address {
	switch {
	case len(done.Changes) == 0:
		return nil
	case done.Saved != nil || done.Frame == nil: // Saved is the frame with the unsaved files, or nil
		return done.Saved
	}
	// The restore saved no frame, so the frame just before its own frame has the files.
	return &timeline.Address{Run: done.Frame.Run, Frame: done.Frame.Frame - 1}
}
