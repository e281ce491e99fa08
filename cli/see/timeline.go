package see

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/display"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/list"
)

// timelineDocument is the document of timeline --json. It has the members of Smithers' document, and the member kind.
type timelineDocument struct {
	Kind     string       `json:"kind"`
	Timeline timelineNode `json:"timeline"`
}

// timelineNode has the timeline of a run, and the timelines of its forks.
type timelineNode struct {
	list.RunTimeline
	Children []timelineNode `json:"children"`
}

// timelineOptions has the options of timeline.
type timelineOptions struct {
	run       string
	tree, all bool
	long      bool // also print dates, content hashes and revisions
}

// countLinesFor is how long timeline counts changed lines. After this time, the other frames get only the mark, and the
// next call of timeline counts their lines.
const countLinesFor = 3 * time.Second

func timelineCommand() *arg.Command {
	return &arg.Command{
		Name:    "timeline",
		Summary: "list the frames and forks of a run",
		Usage:   []string{"<run> [--tree] [--all] [--long]"},
		About: `Lists the frames of a run in order: number, time, duration of the step, a mark and the lines
added and removed if the step changed files, and a description. The forks of a frame stand
below it. Times are local, and the date stands above its first frame. <run> is a run's id or
a unique prefix of it.

--long adds the date, the content hash, and the revision of the working copy to each frame:
jj's change, or git's commit. Frames with the same content hash have the same state.

The list omits frames dropped by a travel, a reset or an undo, and forks that were undone.
--all shows them; their addresses, <run>:<frame>, stay valid in any case.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "tree", Usage: "also show the timelines of the forks, and of their forks"},
			&urfave.BoolFlag{Name: "all", Usage: "also show dropped frames and undone forks"},
			&urfave.BoolFlag{Name: "long", Usage: "also show dates, content hashes and revisions"},
		},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"list the frames of a run", "git smithers timeline triage-1"},
			{"list the frames with all forks", "git smithers timeline triage-1 --tree"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			opts := timelineOptions{run: c.Args().First(), tree: c.Bool("tree"), all: c.Bool("all"), long: c.Bool("long")}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runTimeline(ctx, s, store, opts) })
		},
	}
}

// runTimeline prints the timeline of a run. With --tree, it also prints the timelines of the run's forks and of their
// forks.
func runTimeline(ctx context.Context, s *session.Session, store *timeline.Store, opts timelineOptions) error {
	t, err := list.Timeline(ctx, store, opts.run, list.TreeOptions{Tree: opts.tree, All: opts.all})
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(timelineDocument{"timeline", nestTimeline(t)})
	}
	text := timelineText{p: display.NewPainter(ctx, s), zone: s.Now().Location(), long: opts.long}
	if err := gatherTimeline(ctx, s, store, t, &text); err != nil {
		return err
	}
	return s.Paged(ctx, func() error {
		var b strings.Builder
		text.write(&b, t, "")
		return s.Printf("%s", b.String())
	})
}

// gatherTimeline reads the facts that the timeline t does not have. It sets text.waits to what the runs in t wait for,
// and text.effects to what their frames changed. It counts changed lines for at most countLinesFor; the other frames
// get no line counts. If the lines of a run cannot be counted, gatherTimeline warns.
func gatherTimeline(ctx context.Context, s *session.Session, store *timeline.Store, t *list.Tree, text *timelineText) error {
	text.waits, text.effects = make(map[string]string), make(map[string][]list.Effect)
	if err := waitsOf(ctx, s, store, t, text.waits); err != nil {
		return err
	}
	done := s.While("counting changed lines")
	defer done()
	counting, stop := context.WithTimeout(ctx, countLinesFor)
	defer stop()
	return eachTimeline(t, func(run *list.RunTimeline) error {
		effects, err := list.Effects(ctx, run)
		if err == nil {
			text.effects[run.RunID] = effects
			if lost := list.CountLines(counting, store, run, effects); lost != nil {
				s.Warn(fmt.Errorf("the changed lines of run %s could not be counted: %w", run.RunID, lost))
			}
		}
		return cmp.Or(err, ctx.Err())
	})
}

// eachTimeline calls f for the timeline of a run, and then for the timelines of all forks below the run. It stops at
// the first error of f, and returns this error.
func eachTimeline(t *list.Tree, f func(*list.RunTimeline) error) error {
	if err := f(&t.Timeline); err != nil {
		return err
	}
	for i := range t.Children {
		if err := eachTimeline(&t.Children[i], f); err != nil {
			return err
		}
	}
	return nil
}

// nestTimeline converts t to the form of the JSON document.
func nestTimeline(t *list.Tree) timelineNode {
	node := timelineNode{t.Timeline, make([]timelineNode, len(t.Children))}
	for i := range t.Children {
		node.Children[i] = nestTimeline(&t.Children[i])
	}
	return node
}
