package app

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/internal/back/land"
	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// LandRequest asks to land what a run changed.
type LandRequest struct {
	Run       string   // the address of the frame to land; a run means its newest frame
	From      string   // the frame since which changes are landed: an address, or the number of a frame of the run; "" means the first frame with files
	Worktrees []string // the tasks whose own worktrees are landed, in this order; empty means the run's working copy
	Mode      land.Mode
	Branch    string // the new branch, for land.Branch
	Message   string // the subject and body of the commit; "" means the run's summary
	EachTurn  bool   // a session's turns get a commit each
	Shared    bool   // land what others may have changed, too
	Own       bool   // of a session, land only the files that its own calls of tools name
	DryRun    bool   // see land.Land
	Confirm   files.ConfirmRemoval
}

// Land lands what a run changed. See land.Land for the codes of errors.
func (d *Desk) Land(ctx context.Context, req LandRequest) (*land.Result, error) {
	over := d.Teller.While(Landing)
	defer over()
	asked, err := d.landing(ctx, req)
	if err != nil {
		return nil, err
	}
	asked.Confirm = confirming(req.Confirm, over)
	return land.Land(ctx, d.Store, asked)
}

// AbortLand takes back the landing in the working copy that has conflicts or was interrupted. Codes: nothing_to_undo; and
// those of travel.Undo.
func (d *Desk) AbortLand(ctx context.Context, confirm files.ConfirmRemoval) (*travel.Result, error) {
	over := d.Teller.While(GoingBack)
	defer over()
	run, err := land.Open(ctx, d.Store)
	if err != nil {
		return nil, err
	}
	return travel.Undo(ctx, d.Store, travel.UndoRequest{Run: run, Confirm: confirming(confirm, over)})
}

// landing returns the request to package land: the frames, and the texts of the commits.
func (d *Desk) landing(ctx context.Context, req LandRequest) (land.Request, error) {
	out := land.Request{Mode: req.Mode, Branch: req.Branch, EachOwn: req.EachTurn, DryRun: req.DryRun}
	steps, at, err := d.landSteps(ctx, req, timeline.ToChange)
	if err != nil {
		return out, err
	}
	out.Steps, out.Label = steps, at.String()
	if len(req.Worktrees) == 0 {
		out.Began, err = d.began(ctx, at.Run)
		if err != nil {
			return out, err
		}
	} else {
		out.Label += " " + oneLine(strings.Join(req.Worktrees, ", "))
	}
	summary, err := d.summaryOf(ctx, at)
	if err != nil {
		return out, err
	}
	if req.EachTurn {
		if out.Steps, err = d.turnSteps(ctx, summary, steps[0]); err != nil {
			return out, err
		}
	}
	out.Message = summary.message(req.Message, at, req.Worktrees)
	return out, nil
}

// began returns the files of the first frame of a run, or the zero ID if the frame has none or was removed.
func (d *Desk) began(ctx context.Context, run string) (objstore.ID, error) {
	first, err := d.Store.At(ctx, timeline.Address{Run: run})
	if fault.CodeOf(err) == fault.FrameNotFound {
		return objstore.ID{}, nil
	}
	if err != nil {
		return objstore.ID{}, err
	}
	vcs, err := first.Entry.VCSRevision()
	if err != nil || vcs == nil {
		return objstore.ID{}, timeline.Explain(err)
	}
	return vcs.Tree, nil
}

// errNoTurns returns the error of --each-turn for a run that is not a session.
func errNoTurns(run string) error {
	return fault.New(fault.InvalidInput, "run %q has no turns: it is not a session of a coding agent", run).Hint("land it without --each-turn")
}
