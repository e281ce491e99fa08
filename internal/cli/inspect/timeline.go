package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// timelineNode has the timeline of a run, and the timelines of its forks. Frames replaces the member of RunTimeline.
type timelineNode struct {
	list.RunTimeline
	*agent.Name                 // nil if the run is not a session
	Frames      []timelineFrame `json:"frames"`
	Children    []timelineNode  `json:"children"`
	// NotCaptured has the repositories and the submodules that the newest capture left out; see repositoriesLeft.
	NotCaptured []snapshot.LeftOut `json:"notCaptured,omitempty"`
}

// timelineFrame is a frame in timeline --json.
type timelineFrame struct {
	list.FrameInfo
	TookMs       *int64 `json:"tookMs"` // the duration of the longest attempt that ended with the frame; nil if none did
	Failed       bool   `json:"failed"` // such an attempt failed, or the run failed at the frame
	CodeChanged  bool   `json:"codeChanged"`
	LinesAdded   *int64 `json:"linesAdded"` // nil if the files are the same, or their lines were not counted
	LinesRemoved *int64 `json:"linesRemoved"`
	// Changes has what the frame has changed in the state; left out without --changes, and if the frame cannot be read.
	Changes *list.Changes `json:"changes,omitempty"`
}

// timelineOptions has the options of timeline.
type timelineOptions struct {
	run       string
	tree, all bool
	long      bool // also print dates, content hashes and revisions
	changes   bool // also print what the frames have changed in the state, as JSON
	limit     int  // print only the newest frames; 0 means all
	sinceMs   int64
}

// countLinesFor is how long timeline counts changed lines. After this time, the other frames get only the mark, and the
// next call of timeline counts their lines.
const countLinesFor = 3 * time.Second

func timelineCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "timeline",
		Summary: "list the frames and forks of a run",
		Usage:   []string{"<run> [--tree] [--all] [--long] [--limit N] [--since TIME] [--changes --json]"},
		About: `Lists the frames of a run in order: number, time, duration of the step, a mark and the lines
added and removed if the step changed files, and a description. The forks of a frame are named
below it; with --tree, their timelines follow below the run's. Times are local, and the date stands
above its first frame. <run> is a run's id or a unique prefix of it.

Below the frames stand the repositories in the working copy and the changed submodules that the
newest frame does not have.

--long adds the date, the content hash, and the revision of the working copy to each frame:
jj's change, or git's commit. Frames with the same content hash have the same state.

The list omits frames in which steps start that end later, frames dropped by a travel, a reset or
an undo, and forks that were undone. --all shows them; their addresses, <run>:<frame>, stay valid
in any case. --json has the starts.

With --json, --changes adds what each frame has changed in the state: nodes with their new
states, output rows, loops, approvals, requests, waits, signals and the input.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "tree", Usage: "also show the timelines of the forks, and of their forks"},
			&urfave.BoolFlag{Name: "all", Usage: "also show starts of ended steps, dropped frames and undone forks"},
			&urfave.BoolFlag{Name: "long", Usage: "also show dates, content hashes and revisions"},
			&urfave.BoolFlag{Name: "changes", Usage: "with --json: also print what each frame has changed in the state"},
			arg.LimitFlag(0, "list only the newest `N` frames (default: all)"),
			arg.SinceFlag("list only frames since `TIME`"),
		},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"list the frames of a run", "git smithers timeline triage-1"},
			{"list the frames with all forks", "git smithers timeline triage-1 --tree"},
			{"list what the newest ten frames have changed", "git smithers timeline triage-1 --limit 10 --changes --json"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		opts := timelineOptions{
			run: c.Args().First(), tree: c.Bool("tree"), all: c.Bool("all"), long: c.Bool("long"), changes: c.Bool("changes"),
		}
		if opts.changes && !s.JSON {
			return cmd.Misused("--changes needs --json")
		}
		var err error
		if opts.limit, err = arg.ParseLimit(c); err != nil {
			return err
		}
		if opts.sinceMs, err = arg.ParseSince(s, c); err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runTimeline(ctx, s, store, opts) })
	}
	return cmd
}

// runTimeline prints the timeline of a run. With --tree, it also prints the timelines of the run's forks and of their
// forks.
func runTimeline(ctx context.Context, s *session.Session, store *timeline.Store, opts timelineOptions) error {
	t, err := list.Timeline(ctx, store, opts.run, list.TreeOptions{Tree: opts.tree, All: opts.all, Limit: opts.limit, SinceMs: opts.sinceMs})
	if err != nil {
		return err
	}
	effects, err := effectsOf(ctx, s, store, t)
	if err != nil {
		return err
	}
	if s.JSON {
		node, err := describeTimeline(ctx, store, t, effects, opts.changes)
		if err != nil {
			return err
		}
		return s.WriteJSON(term.Document("timeline", term.Member("timeline", node)))
	}
	text := timelineText{
		p: display.NewPainter(ctx, s), zone: s.Now().Location(), long: opts.long, effects: effects, all: opts.all, waits: make(map[string]string),
		cancelled: make(map[string]string), left: make(map[string][]snapshot.LeftOut),
	}
	err = eachTimeline(t, func(run *list.RunTimeline) (err error) {
		text.left[run.RunID], err = repositoriesLeft(store, run)
		return err
	})
	if err != nil {
		return err
	}
	if s.IsTerminalOut() {
		text.width = s.Columns()
	}
	if err := waitsOf(ctx, s, store, t, text.waits); err != nil {
		return err
	}
	if err := cancelledOf(ctx, store, t, text.cancelled); err != nil {
		return err
	}
	if text.names, err = namesIn(ctx, store, t); err != nil {
		return err
	}
	return s.Paged(ctx, func() error {
		var b strings.Builder
		text.write(&b, t, "")
		if text.folded > 0 {
			b.WriteString(text.p.Paint(term.Dim, "left out: "+plain.Count(text.folded, "start")+" of steps; --all shows them") + "\n")
		}
		return s.Printf("%s", b.String())
	})
}

// effectsOf returns what the frames of the runs in the timeline t changed, by the id of the run. It counts changed lines for
// at most countLinesFor; the other frames get no line counts. If the lines of a run cannot be counted, effectsOf warns.
func effectsOf(ctx context.Context, s *session.Session, store *timeline.Store, t *list.Tree) (map[string][]list.Effect, error) {
	out := make(map[string][]list.Effect)
	done := s.While("counting changed lines")
	defer done()
	counting, stop := context.WithTimeout(ctx, countLinesFor)
	defer stop()
	return out, eachTimeline(t, func(run *list.RunTimeline) error {
		effects, err := list.Effects(ctx, run)
		if err == nil {
			out[run.RunID] = effects
			if lost := list.CountLines(counting, store, run, effects); lost != nil {
				s.Warn(fmt.Errorf("the changed lines of run %s could not be counted: %w", run.RunID, lost))
			}
		}
		return cmp.Or(err, ctx.Err())
	})
}

// cancelledOf sets in names, by the id of the run, who has cancelled the cancelled runs in the timeline t, if that is known.
func cancelledOf(ctx context.Context, store *timeline.Store, t *list.Tree, names map[string]string) error {
	return eachTimeline(t, func(run *list.RunTimeline) error {
		if run.Status != string(snapshot.RunCancelled) {
			return nil
		}
		head, err := run.Head(store)
		if err != nil {
			return err
		}
		who, err := list.CancelledBy(ctx, store, head.Row())
		if err == nil && who != nil && who.By != nil {
			names[run.RunID] = *who.By
		}
		return err
	})
}

// namesIn returns the names of the sessions in the timeline t and of the forks that it lists, by the ids of the runs.
func namesIn(ctx context.Context, store *timeline.Store, t *list.Tree) (map[string]*agent.Name, error) {
	names := make(map[string]*agent.Name)
	return names, eachTimeline(t, func(run *list.RunTimeline) error {
		if names[run.RunID] = nameOf(store, run); names[run.RunID] == nil {
			return nil
		}
		forks, err := list.Branches(ctx, store, run.RunID)
		for _, fork := range forks {
			names[fork.RunID] = agent.NameAt(fork.Head(store))
		}
		return err
	})
}

// nameOf returns the name of a run, or nil if it is not a session. It reads nothing if all frames of the run are here, and none has the id of a turn.
func nameOf(store *timeline.Store, run *list.RunTimeline) *agent.Name {
	hasTurn := func(f list.FrameInfo) bool { return slices.ContainsFunc(f.IDs, agent.IsTurnID) }
	if run.Branch == nil && run.LeftOut == 0 && !slices.ContainsFunc(run.Frames, hasTurn) {
		return nil
	}
	return agent.NameAt(run.Head(store))
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

// describeTimeline converts t to the form of the JSON document. effects has the effects of the frames, by run. If changes is
// true, the frames also have what they have changed in the state.
func describeTimeline(ctx context.Context, store *timeline.Store, t *list.Tree, effects map[string][]list.Effect, changes bool) (timelineNode, error) {
	run := &t.Timeline
	left, err := repositoriesLeft(store, run)
	node := timelineNode{*run, nameOf(store, run), make([]timelineFrame, len(run.Frames)), make([]timelineNode, len(t.Children)), left}
	if err != nil {
		return node, err
	}
	var changed []*list.Changes
	if changes {
		if changed, err = list.ChangesOf(ctx, store, run); err != nil {
			return node, err
		}
	}
	for i, f := range run.Frames {
		if i == 0 { // a program finds the forks of older frames here: parentFrameNo says where they start
			for _, older := range slices.Backward(run.Older()) {
				f.Forks = slices.Concat(older.Forks, f.Forks)
			}
		}
		effect := effects[run.RunID][i]
		doc := timelineFrame{FrameInfo: f, Failed: effect.Failed, CodeChanged: effect.Changed}
		if effect.Ended {
			doc.TookMs = &effect.TookMs
		}
		if effect.Lines != nil {
			doc.LinesAdded, doc.LinesRemoved = &effect.Lines.Added, &effect.Lines.Removed
		}
		if changes {
			doc.Changes = changed[i]
		}
		node.Frames[i] = doc
	}
	for i := range t.Children {
		if node.Children[i], err = describeTimeline(ctx, store, &t.Children[i], effects, changes); err != nil {
			return node, err
		}
	}
	return node, nil
}
