// Package display formats stored values for people: times, sizes, revisions, names, and their colours.
package display

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/jjbridge"
)

// A Painter is a term.Painter that also paints the kind of a change and revisions.
type Painter struct{ term.Painter }

// NewPainter returns the painter that colours text for the standard output of the session.
func NewPainter(ctx context.Context, s *session.Session) Painter { return Painter{s.Painter(ctx)} }

// Change paints op, the kind of change of a path: an addition is green, a removal is red, and any other kind is yellow.
func (p Painter) Change(op string) string {
	switch op {
	case jjbridge.OpAdd:
		return p.Paint(term.Green, op)
	case jjbridge.OpRemove:
		return p.Paint(term.Red, op)
	}
	return p.Paint(term.Yellow, op)
}
