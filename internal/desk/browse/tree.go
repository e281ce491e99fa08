package browse

import (
	"context"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/snapshot"
)

// A ForkTree is a run with its forks, as lines from the oldest to the newest.
type ForkTree struct {
	Root  string // the id of the run
	Runs  int
	Lines []TreeLine
}

// A TreeLine is a stretch of frames at which nothing was forked, or the head of a fork.
type TreeLine struct {
	Run      string
	Name     string // the label of the fork, else its id
	Depth    int    // how many lines of runs are left of this one
	Fork     bool   // the line is the head of a fork
	Tip      bool   // the stretch ends with the newest frame
	From, To int64  // the numbers of the frames
	Says     string // what happened in the stretch
	Status   string // of the run
	Stale    bool
	AtMs     int64 // when the stretch ended, since the run's first frame; of a fork how long it took
}

// ForkTree reads the tree of a run: an id or a unique prefix.
func (r *Reader) ForkTree(ctx context.Context, run string) (*ForkTree, error) {
	tree, err := list.Timeline(ctx, r.Store, run, list.TreeOptions{Tree: true})
	if err != nil {
		return nil, err
	}
	out := &ForkTree{Root: tree.Timeline.RunID}
	r.addTree(out, tree, 0)
	return out, nil
}

// addTree adds the lines of a run and its forks.
func (r *Reader) addTree(out *ForkTree, tree *list.Tree, depth int) {
	out.Runs++
	frames := tree.Timeline.Frames
	children := make(map[int64][]*list.Tree)
	for i := range tree.Children {
		child := &tree.Children[i]
		at := int64(0)
		if b := child.Timeline.Branch; b != nil {
			at = b.ParentFrameNo
		}
		children[at] = append(children[at], child)
	}
	from := 0
	for i, f := range frames {
		last := i == len(frames)-1
		if len(children[f.FrameNo]) == 0 && !last {
			continue
		}
		out.Lines = append(out.Lines, TreeLine{
			Run: tree.Timeline.RunID, Depth: depth, Tip: last, From: frames[from].FrameNo, To: f.FrameNo, Says: subjects(frames[from : i+1]),
			Status: tree.Timeline.Status, Stale: last && r.stale(tree), AtMs: f.CreatedAtMs - frames[0].CreatedAtMs,
		})
		from = i + 1
		for _, child := range children[f.FrameNo] {
			out.Lines = append(out.Lines, r.head(child, depth))
			if len(child.Children) > 0 || len(child.Timeline.Frames) > 1 {
				r.addTree(out, child, depth+1)
			} else {
				out.Runs++
			}
		}
	}
}

// head returns the line of a fork.
func (r *Reader) head(tree *list.Tree, depth int) TreeLine {
	frames := tree.Timeline.Frames
	l := TreeLine{Run: tree.Timeline.RunID, Name: tree.Timeline.RunID, Depth: depth, Fork: true, Status: tree.Timeline.Status, Stale: r.stale(tree)}
	if b := tree.Timeline.Branch; b != nil && b.BranchLabel != nil && *b.BranchLabel != "" {
		l.Name = *b.BranchLabel
	}
	if len(frames) > 0 {
		first, last := frames[0], frames[len(frames)-1]
		l.From, l.To, l.AtMs = first.FrameNo, last.FrameNo, last.CreatedAtMs-first.CreatedAtMs
	}
	return l
}

// stale reports whether no process runs a run that says running.
func (r *Reader) stale(tree *list.Tree) bool {
	if tree.Timeline.Status != string(snapshot.RunRunning) {
		return false
	}
	head, err := tree.Timeline.Head(r.Store)
	return err == nil && summary.Stale(r.Store, head.Row(), head.Entry())
}

// subjects returns what happened at frames, shortened: the first few subjects that differ.
func subjects(frames []list.FrameInfo) string {
	const most = 4
	var parts []string
	for _, f := range frames {
		if !slices.Contains(parts, f.Subject) {
			parts = append(parts, f.Subject)
		}
	}
	if len(parts) > most {
		parts = append(parts[:most-1:most-1], "…", parts[len(parts)-1])
	}
	return strings.Join(parts, ", ")
}
