package browse

import (
	"context"
	"errors"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/blame"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// blameFor is how long Blame reads at most.
const blameFor = 30 * time.Second

// A BlameLine is a line of a file with its writer.
type BlameLine struct {
	By     *blame.Writer
	Landed string // the commit that landed the line; "" if no commit has it
	Text   string // without the line end
}

// Blame returns the lines of a file at a frame. worktree is the task whose own worktree has the file, or "". It returns a canceled context's
// error as it is.
func (r *Reader) Blame(ctx context.Context, at timeline.Address, worktree, path string) ([]BlameLine, error) {
	bounded, stop := context.WithTimeout(ctx, blameFor)
	defer stop()
	file, err := blame.NewReader(r.Store).File(bounded, blame.Query{Path: path, Revision: at.String(), Worktree: worktree})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(bounded.Err(), context.DeadlineExceeded):
		return nil, fault.New(fault.LimitExceeded, "the history of %s was not read within %s", plain.OneLine(path), blameFor)
	case err != nil:
		return nil, err
	}
	var out []BlameLine
	for i := range file.Ranges {
		for _, text := range file.Ranges[i].Text {
			out = append(out, BlameLine{file.Ranges[i].Writer, file.Ranges[i].Landed, text})
		}
	}
	return out, nil
}
