package cli

import (
	"context"

	"github.com/git-smithers/git-smithers/cli/term"
)

// painter paints what this program's output is about.
type painter struct{ term.Painter }

// painter decides about colour on standard output.
func (s *session) painter(ctx context.Context) painter { return painter{s.Painter(ctx)} }
