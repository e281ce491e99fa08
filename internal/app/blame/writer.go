package blame

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Kind says what a writer is.
type Kind string

// The kinds of writers.
const (
	Frame       Kind = "frame"       // a frame of a run
	Start       Kind = "start"       // nobody knows: the run found the lines when it began, and no commit had them
	Commit      Kind = "commit"      // a commit
	Uncommitted Kind = "uncommitted" // the lines are in the working copy alone
)

// Writer is who wrote lines: a frame or a commit.
type Writer struct {
	Kind Kind  `json:"kind"`
	AtMs int64 `json:"atMs"` // when, in milliseconds since 1970; of a commit, when its author made it

	// Of a frame.
	Run      string    `json:"runId,omitempty"`
	Frame    *int64    `json:"frameNo,omitempty"`
	Worktree string    `json:"worktree,omitempty"` // the task in whose own worktree the lines were written
	Subject  string    `json:"subject,omitempty"`  // of the frame or the commit
	Attempts []Attempt `json:"attempts,omitempty"` // that ended between the frame before and the frame, or ran when it was made
	Since    *int64    `json:"since,omitempty"`    // an attempt that ended at this frame or later may have written the lines, too: frames since then have no captured files
	// UsedTools says that one of Attempts has called tools, as an agent does.
	UsedTools bool     `json:"usedTools,omitempty"`
	Shared    []string `json:"sharedWith,omitempty"` // runs and sessions that were at work in the same files
	Agent     string   `json:"agent,omitempty"`      // of a session
	Model     string   `json:"model,omitempty"`      // that answered last, as the agent calls it
	Turn      int      `json:"turn,omitempty"`
	Prompt    string   `json:"prompt,omitempty"` // of the turn
	Calls     []Call   `json:"calls,omitempty"`  // the tool calls after which the frame was made

	// Of a commit. A frame has the id of its own commit.
	Commit  string   `json:"commit,omitempty"`
	Author  string   `json:"author,omitempty"`
	Mail    string   `json:"authorMail,omitempty"`
	NotHere []string `json:"notHere,omitempty"` // frames that the commit has landed, and that this repository does not have

	// Headers are the lines of `git blame --porcelain` about a commit, without the path.
	Headers []string `json:"-"`
}

// Attempt is an attempt of a task.
type Attempt struct {
	NodeID    string `json:"nodeId"`
	Iteration int    `json:"iteration"`
	Attempt   int    `json:"attempt"`
}

// Call is a tool call of a session.
type Call struct {
	ID   string `json:"id"`             // the agent's own id
	Tool string `json:"tool,omitempty"` // "" if it is unknown
}

// Address returns the address of a writer's frame.
func (w *Writer) Address() timeline.Address {
	if w.Frame == nil {
		return timeline.Address{Run: w.Run, Frame: snapshot.NoFrame}
	}
	return timeline.Address{Run: w.Run, Frame: *w.Frame}
}

// writers describes the writers of an annotation.
type writers struct {
	ctx   context.Context //nolint:containedctx // of one call of Of
	g     *graph
	lines *annotation
	known map[string]*Writer
}

func newWriters(ctx context.Context, g *graph, lines *annotation) *writers {
	return &writers{ctx: ctx, g: g, lines: lines, known: make(map[string]*Writer)}
}

// ranges returns the ranges of the annotation. first has the commits that have brought the lines. With own, lines of boundaries are left out.
func (w *writers) ranges(first *annotation, own bool) ([]Range, error) {
	out := []Range{}
	var last line
	for i, at := range w.lines.lines {
		if own && w.lines.commits[at.commit].boundary {
			continue
		}
		landed := ""
		if by := first.lines[i].commit; by != at.commit && w.g.nodes[at.commit] != nil && w.g.nodes[by] == nil && by != w.g.more {
			landed = by
		}
		if landed != "" && w.g.nodes[at.commit].before { // no run wrote the line
			at, landed = first.lines[i], ""
			w.lines.commits[at.commit] = first.commits[at.commit]
		}
		n := len(out)
		if n > 0 && last.commit == at.commit && last.path == at.path && last.written+1 == at.written && last.number+1 == at.number && out[n-1].Landed == landed {
			out[n-1].End, out[n-1].Text = at.number, append(out[n-1].Text, at.text)
		} else {
			by, err := w.writer(at.commit)
			if err != nil {
				return nil, err
			}
			out = append(out, Range{
				Start: at.number, End: at.number, OriginalStart: at.written, OriginalPath: at.path, Landed: landed, Writer: by, Text: []string{at.text},
			})
		}
		last = at
	}
	return out, nil
}

// writer returns the writer behind a commit of the graph.
func (w *writers) writer(commit string) (*Writer, error) {
	if by, ok := w.known[commit]; ok {
		return by, nil
	}
	var by *Writer
	var err error
	n := w.g.nodes[commit]
	switch {
	case n != nil:
		by, err = w.frame(n)
	case commit == w.g.more:
		by = &Writer{Kind: Uncommitted, AtMs: w.g.s.Now().UnixMilli()}
	default:
		info := w.lines.commits[commit]
		seconds, _ := strconv.ParseInt(info.values["author-time"], 10, 64)
		by = &Writer{
			Kind: Commit, AtMs: seconds * 1000, Commit: commit, Author: info.values["author"], Mail: info.values["author-mail"],
			Subject: info.values["summary"], NotHere: w.g.absent[commit], Headers: w.headers(info),
		}
	}
	if err == nil {
		w.known[commit] = by
	}
	return by, err
}

// headers returns what git says about a commit. In the header "previous", a frame has the id of its own commit.
func (w *writers) headers(info *commitInfo) []string {
	out := slices.Clone(info.headers)
	for i, header := range out {
		text, _ := strings.CutPrefix(header, "previous ")
		id, path, _ := strings.Cut(text, " ")
		if n := w.g.nodes[id]; n != nil {
			out[i] = "previous " + n.entry.ID.String() + " " + path
		}
	}
	return out
}

// frame returns the writer of a node.
func (w *writers) frame(n *node) (*Writer, error) {
	e := n.entry
	by := &Writer{
		Kind: Frame, AtMs: e.AtMs, Run: e.Run, Frame: &e.Frame, Worktree: n.worktree, Subject: e.Subject, Commit: e.ID.String(),
	}
	var err error
	if by.Shared, err = e.SharedWith(); err != nil {
		return nil, err
	}
	if n.before {
		by.Kind = Start
		return by, nil
	}
	if err := w.readAttempts(by, n); err != nil {
		return nil, err
	}
	if len(by.Attempts) > 0 {
		of, err := w.g.r.callsOf(w.ctx, e.Run)
		if err != nil {
			return nil, err
		}
		by.UsedTools = slices.ContainsFunc(by.Attempts, func(a Attempt) bool { return of.by[a] })
	}
	turn, err := agent.TurnAt(e)
	if err != nil || turn == nil {
		return by, err
	}
	by.Agent, by.Model, by.Turn, by.Attempts = turn.Agent, turn.Model, turn.Number, nil
	state, err := e.State()
	if err == nil {
		by.Prompt, _, err = agent.PromptOf(state, by.Turn)
	}
	if err != nil {
		return nil, err
	}
	by.Calls, err = w.calls(e)
	return by, err
}

// readAttempts sets Attempts and Since.
func (w *writers) readAttempts(by *Writer, n *node) error {
	keys := []string{}
	if n.older == nil {
		if n.worktree == "" {
			by.Since = new(int64)
		}
	} else {
		if n.older.Run == n.entry.Run {
			at := timeline.Address{Run: n.older.Run, Frame: n.older.Frame}
			behind, err := files.BehindState(w.ctx, w.g.s, &timeline.LoadedEntry{Address: at, Entry: n.older}, n.worktree)
			if err != nil {
				return err
			}
			if behind != nil {
				by.Since = &behind.Frame
				keys = append(keys, behind.Attempts...)
			}
		}
		ended, err := endedBetween(n.older, n.entry, n.worktree)
		if err != nil {
			return err
		}
		keys = append(keys, ended...)
	}
	vcs, err := n.entry.VCSRevision()
	if err != nil {
		return err
	}
	if own := files.WorktreeOf(vcs, n.worktree); own != nil && own.Frame == n.entry.Frame {
		keys = append(keys, own.Attempts...)
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		node, iteration, number, err := snapshot.SplitAttemptKey(key)
		if err != nil {
			return err
		}
		by.Attempts = append(by.Attempts, Attempt{node, iteration, number})
	}
	return nil
}

// endedBetween returns the keys of the attempts in a working copy that ended after the entry from, and no later than the entry to.
func endedBetween(from, to *snapshot.Entry, worktree string) (keys []string, err error) {
	before, err := from.Attempts()
	if err != nil {
		return nil, err
	}
	now, err := to.Attempts()
	if err != nil {
		return nil, err
	}
	for delta, err := range page.Diff(before, now) {
		if err != nil {
			return nil, err
		}
		if delta.To == nil {
			continue
		}
		a, err := snapshot.DecodeAttempt(page.Row{Key: delta.Key, Value: delta.To})
		if err != nil {
			return nil, err
		}
		if a.FinishedAtMs != nil && a.Worktree == worktree {
			keys = append(keys, delta.Key)
		}
	}
	return keys, nil
}

// calls returns the tool calls whose ids a frame has.
func (w *writers) calls(e *snapshot.Entry) (calls []Call, err error) {
	for _, id := range e.IDs {
		if agent.IsTurnID(id) {
			continue
		}
		of, err := w.g.r.callsOf(w.ctx, e.Run)
		if err != nil {
			return nil, err
		}
		calls = append(calls, Call{id, of.tools[id]})
	}
	return calls, nil
}

// callsOfRun is what a run has called.
type callsOfRun struct {
	tools map[string]string // by the agent's ids of the calls
	by    map[Attempt]bool  // the attempts that have called tools
}

// callsOf returns what a run has called until now: a transcript often has a call later than the frame.
func (r *Reader) callsOf(ctx context.Context, run string) (*callsOfRun, error) {
	if of, ok := r.tools[run]; ok {
		return of, nil
	}
	of := &callsOfRun{make(map[string]string), make(map[Attempt]bool)}
	r.tools[run] = of
	head, err := r.s.Head(ctx, run)
	if err != nil {
		return of, nil // the run was pruned, and a fork has the frame
	}
	for call, err := range head.Entry().AllToolCalls() {
		if err != nil {
			return nil, err
		}
		of.tools[call.CallToken] = call.ToolName
		if call.Kind != snapshot.ToolCallTask {
			of.by[Attempt{call.NodeID, call.Iteration, call.Attempt}] = true
		}
	}
	return of, nil
}
