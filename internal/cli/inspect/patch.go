package inspect

import (
	"context"

	"github.com/git-smithers/git-smithers/diff"
	"github.com/git-smithers/git-smithers/internal/cli/compare"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// patchDocument is the member patch of show -p --json: the changes of a frame.
type patchDocument struct {
	From  *string                `json:"from"` // nil for a run's first frame
	State *diff.Result           `json:"state"`
	Code  []compare.FileDocument `json:"code"` // nil if a side has no files
}

// A patch has the changes of the frame To since the frame From. From is nil for a run's first frame.
type patch struct {
	compare.Sides

	frame string // the subject of the newest frame if To is a newer entry, else ""
	state *diff.Result
	code  *compare.Trees // nil if a side has no files
	where []string       // the options with which git finds the repository
}

// patchOf returns the changes from the frame before the loaded entry at to this entry. These are the differences in
// state and, if both have files, the differences in files. If there is no frame before the entry, the state is compared
// with an empty state.
func patchOf(ctx context.Context, s *session.Session, store *timeline.Store, at *timeline.LoadedEntry) (*patch, error) {
	before, err := files.Before(ctx, store, at)
	if err != nil {
		return nil, err
	}
	p := &patch{Sides: compare.Sides{From: before, To: at}}
	if p.frame, err = subjectBefore(ctx, store, at); err != nil {
		return nil, err
	}
	if p.state, err = p.States(); err != nil || before == nil {
		return p, err
	}
	trees, err := p.Trees(ctx, store, "")
	if fault.CodeOf(err) == fault.NoCode {
		return p, nil
	}
	if err == nil {
		p.code = &trees
		p.where, err = compare.WhereForGit(ctx, s, store)
	}
	return p, err
}

// document returns the patch as the member patch of show -p --json.
func (p *patch) document(ctx context.Context, s *session.Session) (*patchDocument, error) {
	doc := &patchDocument{From: p.FromAddress(), State: p.state}
	if p.code == nil {
		return doc, nil
	}
	var err error
	doc.Code, err = compare.FileDiffs(ctx, s, p.where, *p.code, nil, files.DefaultDiffLimits())
	return doc, err
}

// print shows the patch to people, through the pager: a heading, then the differences in state, then the
// differences in files, as git diff shows them.
func (p *patch) print(ctx context.Context, s *session.Session) error {
	paint := display.NewPainter(ctx, s)
	return s.Paged(ctx, func() error {
		view := stateView{p: paint, standing: standing{frame: p.frame}}
		row, err := p.To.Entry.RunRow()
		if err != nil {
			return err
		}
		view.heading(p.To.Address, row, p.To.Entry)
		// The heading ends with a line about p.From: before is the name of the line, and since is the value.
		before, since := "before it", "the first frame of the run"
		if p.From != nil {
			since = compare.AddressOf(p.From)
		}
		if isNewer(p.To.Entry) {
			before = "compared to"
		}
		view.field(before, since)
		view.WriteByte('\n')
		if err := s.Printf("%s", view.String()); err != nil {
			return err
		}
		files := p.code != nil && p.code.From != p.code.To // equal trees have no differences
		if !p.state.Empty() || !files {
			if err := p.state.Render(s.Out, diff.RenderOptions{Colors: paint.On()}); err != nil || !files {
				return err
			}
			if err := s.Printf("\n"); err != nil {
				return err
			}
		}
		color := "--color=never"
		if paint.On() {
			color = "--color=always"
		}
		return compare.HandOver(ctx, s, p.code.Arguments(append(p.where, "--no-pager", "diff", color)))
	})
}
