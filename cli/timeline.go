package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/timeline"
)

// hashShown is how many digits of a content hash people see.
const hashShown = 8

// timelineDocument is what timeline prints with --json; Smithers' shape, and kind.
type timelineDocument struct {
	Kind     string       `json:"kind"`
	Timeline timelineNode `json:"timeline"`
}

// timelineNode is a run's timeline with those of its forks inside.
type timelineNode struct {
	timeline.RunTimeline
	Children []timelineNode `json:"children"`
}

// timelineOptions are what timeline takes.
type timelineOptions struct {
	run       string
	tree, all bool
}

func timelineCommand() *command {
	return &command{
		name:    "timeline",
		summary: "list the frames of a run and where it was forked",
		usage:   []string{"<run> [--tree] [--all]"},
		about: `Lists the frames of a run in their order: number, time, content hash, the revision of
the working copy (jj's change, or git's commit), and what happened. Below a frame
stand the forks that start from it. Frames with the same content hash have the same
state. <run> is a run's id or a unique prefix of it.

Frames that a travel, a reset or an undo stepped over are left out, and forks that were
undone. --all shows them; <run>:<frame> finds them in any case.`,
		minArgs: 1, maxArgs: 1,
		flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "tree", Usage: "show the forks' timelines too, and those of their forks"},
			&urfave.BoolFlag{Name: "all", Usage: "show frames that were dropped and forks that were undone as well"},
		},
		exits: reads(),
		examples: []example{
			{"list the frames of a run", "git smithers timeline triage-1"},
			{"list them with everything that was forked from it", "git smithers timeline triage-1 --tree"},
		},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			opts := timelineOptions{run: c.Args().First(), tree: c.Bool("tree"), all: c.Bool("all")}
			return s.withStore(ctx, func(store *timeline.Store) error { return runTimeline(ctx, s, store, opts) })
		},
	}
}

// runTimeline prints a run's timeline.
func runTimeline(ctx context.Context, s *session, store *timeline.Store, opts timelineOptions) error {
	t, err := store.Timeline(ctx, opts.run, timeline.TreeOptions{Tree: opts.tree, All: opts.all})
	if err != nil {
		return err
	}
	if s.json {
		return s.writeJSON(timelineDocument{"timeline", nestTimeline(t)})
	}
	waits := make(map[string]string)
	if err := s.waitsOf(ctx, store, t, waits); err != nil {
		return err
	}
	return s.paged(ctx, func() error {
		var b strings.Builder
		renderTimeline(&b, s.painter(ctx), t, waits, "")
		return s.printf("%s", b.String())
	})
}

func nestTimeline(t *timeline.Tree) timelineNode {
	node := timelineNode{t.Timeline, make([]timelineNode, len(t.Children))}
	for i := range t.Children {
		node.Children[i] = nestTimeline(&t.Children[i])
	}
	return node
}

// renderTimeline writes a run's frames, below each the forks that start there, and at the end what the run waits for.
func renderTimeline(b *strings.Builder, p painter, t *timeline.Tree, waits map[string]string, indent string) {
	run := t.Timeline
	b.WriteString(indent + p.paint(bold, plain(run.RunID)))
	if branch := run.Branch; branch != nil {
		from := timeline.Address{Run: branch.ParentRunID, Frame: branch.ParentFrameNo}
		fmt.Fprintf(b, "%s (forked from %s)", label(branch.BranchLabel), plain(from.String()))
	}
	fmt.Fprintf(b, "  %s\n", p.status(plain(run.Status)))
	children := make(map[string]*timeline.Tree, len(t.Children))
	for i := range t.Children {
		children[t.Children[i].Timeline.RunID] = &t.Children[i]
	}
	width := 1
	if n := len(run.Frames); n > 0 {
		width = len(strconv.FormatInt(run.Frames[n-1].FrameNo, 10))
	}
	revised := slices.ContainsFunc(run.Frames, func(f timeline.FrameInfo) bool { return f.VCS != nil })
	for _, f := range run.Frames {
		renderFrame(b, p, f, indent, width, revised)
		for _, fork := range f.Forks {
			fmt.Fprintf(b, "%s  |-- %s%s (%s)\n", indent, p.paint(bold, plain(fork.RunID)), label(fork.BranchLabel), forkedAt(f, fork))
			if child := children[fork.RunID]; child != nil {
				renderTimeline(b, p, child, waits, indent+"    ")
			}
		}
	}
	if text := waits[run.RunID]; text != "" {
		b.WriteString(indent + "  " + text + "\n")
	}
}

// renderFrame writes one frame. One that was dropped is faint as a whole.
func renderFrame(b *strings.Builder, p painter, f timeline.FrameInfo, indent string, width int, revised bool) {
	paint, mark := p, ""
	if f.Dropped {
		paint, mark = painter{}, " (dropped)"
	}
	var line strings.Builder
	fmt.Fprintf(&line, "Frame %*d  %s  %s", width, f.FrameNo, paint.paint(dim, clockTime(f.CreatedAtMs)),
		paint.paint(yellow, shortHash(f.ContentHash)))
	if revised {
		line.WriteString("  " + paint.frameRevision(f.VCS))
	}
	line.WriteString("  " + plain(f.Subject) + mark)
	text := line.String()
	if f.Dropped {
		text = p.paint(dim, text)
	}
	b.WriteString(indent + "  " + text + "\n")
}

// forkedAt says at which frame a fork starts, and what has become of that or of the fork.
func forkedAt(f timeline.FrameInfo, fork timeline.ForkInfo) string {
	text := fmt.Sprintf("forked at frame %d", fork.ParentFrameNo)
	if fork.ParentFrameNo != f.FrameNo {
		text += ", which was dropped"
	}
	if fork.Undone {
		text += ", undone"
	}
	return text
}

// frameRevision is the revision of a frame, as wide as all others.
func (p painter) frameRevision(v *timeline.FrameVCS) string {
	text := ""
	if v != nil {
		text = plain(shortRevision(v.VCSType, v.VCSPointer, orEmpty(v.ChangeID)))
	}
	return p.revision(text) + strings.Repeat(" ", max(0, revisionShown-utf8.RuneCountInString(text)))
}

// label is a fork's label in brackets, behind a space; "" when it has none.
func label(text *string) string {
	if text == nil || *text == "" {
		return ""
	}
	return " [" + plain(*text) + "]"
}

func shortHash(hash string) string { return hash[:min(hashShown, len(hash))] }
