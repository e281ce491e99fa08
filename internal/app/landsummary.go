package app

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	subjectWidth = 72  // of the subject of a commit, in characters
	mostPrompts  = 20  // in a message or a description
	promptShown  = 200 // of a prompt in a list, in characters
)

// summary says in words what a run did.
type summary struct {
	row      snapshot.Run
	dialogue *agent.Dialogue     // of a session; nil for other runs
	tasks    []taskLine          // in the order in which they began
	hide     func(string) string // see SecretHider
}

// taskLine is a task of a run, and its state.
type taskLine struct {
	key   string
	state string
	first snapshot.Attempt
}

// summaryOf returns the summary of a run at a frame.
func (d *Desk) summaryOf(ctx context.Context, address timeline.Address) (*summary, error) {
	at, err := d.Store.At(ctx, address)
	if err != nil {
		return nil, err
	}
	out := new(summary)
	if out.row, err = at.Entry.RunRow(); err != nil {
		return nil, timeline.Explain(err)
	}
	if out.hide, err = SecretHider(d.Store, out.row.Secrets); err != nil {
		return nil, err
	}
	out.row.Workflow = out.hide(out.row.Workflow)
	if parent := out.row.Parent; parent != nil {
		hidden := *parent
		hidden.Description = out.hide(unescaped(parent.Description))
		out.row.Parent = &hidden
	}
	if out.dialogue, err = agent.DialogueAt(ctx, d.Store, at, objstore.ID{}); err != nil {
		return nil, err
	}
	if out.dialogue != nil {
		for i, turn := range out.dialogue.Turns {
			out.dialogue.Turns[i].Prompt = out.hide(unescaped(turn.Prompt))
		}
		return out, nil
	}
	state, err := at.Entry.State()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	began, err := firstAttempts(at.Entry)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	for node, err := range state.AllNodes() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		key := node.NodeID
		if node.Iteration > 0 {
			key = snapshot.Key(node.NodeID, node.Iteration)
		}
		first, ok := began[attempted{node.NodeID, node.Iteration}]
		if !ok {
			first.StartedAtMs = math.MaxInt64 // tasks that have not begun come last
		}
		out.tasks = append(out.tasks, taskLine{oneLine(out.hide(key)), string(node.State), first})
	}
	slices.SortStableFunc(out.tasks, func(a, b taskLine) int { return earlier(a.first, b.first) })
	return out, nil
}

// unescaped returns a stored text as somebody has said it, but with its placeholders.
func unescaped(text string) string { return string(redact.Unescape([]byte(text), redact.Plain)) }

// attempted names a task in an iteration of its loop.
type attempted struct {
	node      string
	iteration int
}

// earlier compares the starts of two attempts or, if they are equal, the frames in which the attempts ended.
func earlier(a, b snapshot.Attempt) int {
	var ended [2]int64
	for i, one := range []snapshot.Attempt{a, b} {
		if one.Frame != nil {
			ended[i] = *one.Frame
		}
	}
	return cmp.Or(cmp.Compare(a.StartedAtMs, b.StartedAtMs), cmp.Compare(ended[0], ended[1]))
}

// firstAttempts returns the first attempt of each task.
func firstAttempts(entry *snapshot.Entry) (map[attempted]snapshot.Attempt, error) {
	began := make(map[attempted]snapshot.Attempt)
	for a, err := range entry.AllAttempts() {
		if err != nil {
			return nil, err
		}
		task := attempted{a.NodeID, a.Iteration}
		if known, ok := began[task]; !ok || earlier(a, known) < 0 {
			began[task] = a
		}
	}
	return began, nil
}

// oneLine returns text on one line, with control characters escaped.
func oneLine(text string) string { return plain.Text(plain.OneLine(text)) }

// shortPrompt returns the beginning of a turn's prompt on one line.
func shortPrompt(turn agent.Turn) string {
	return plain.Shorten(plain.Text(plain.Words(turn.Prompt)), promptShown)
}

// firstLine returns the first line of text, with control characters escaped.
func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return oneLine(first)
}

// subject returns the subject of a commit.
func (s *summary) subject() string {
	var text string
	switch {
	case s.dialogue != nil && len(s.dialogue.Turns) > 0:
		text = s.dialogue.Turns[0].Prompt
	case s.row.Parent != nil && s.row.Parent.Description != "":
		text = s.row.Parent.Description
	}
	if text = firstLine(text); text == "" {
		text = oneLine(s.row.Workflow) + ": run " + oneLine(s.row.ID)
	}
	return plain.Shorten(text, subjectWidth)
}

// coAuthor returns the agent as a co-author, or "".
func (s *summary) coAuthor() string {
	if s.dialogue == nil {
		return ""
	}
	return s.dialogue.CoAuthor
}

// message returns the message of a commit with the run's changes. own is the user's text, or "" for the summary. worktrees are
// the tasks whose own worktrees are landed.
func (s *summary) message(own string, at timeline.Address, worktrees []string) string {
	text := strings.TrimSpace(own)
	if text == "" {
		text = s.subject()
		if lines := s.lines(); len(lines) > 0 {
			text += "\n\n" + strings.Join(lines, "\n")
		}
	}
	return text + "\n\n" + trailers(at, worktrees, s.coAuthor())
}

// turnMessage returns the message of a commit with the changes of one turn. at is the last frame of the turn.
func (s *summary) turnMessage(turn agent.Turn, at timeline.Address) string {
	text := plain.Shorten(firstLine(turn.Prompt), subjectWidth)
	if text == "" {
		text = fmt.Sprintf("turn %d of %s", turn.Number, oneLine(s.row.ID))
	}
	return text + "\n\n" + trailers(at, nil, s.coAuthor())
}

// lines returns the prompts of a session, or the tasks of a run, as a list.
func (s *summary) lines() []string {
	var all []string
	if s.dialogue != nil {
		if len(s.dialogue.Turns) < 2 {
			return nil // the subject has the only prompt
		}
		for _, turn := range s.dialogue.Turns {
			all = append(all, fmt.Sprintf("%d. %s", turn.Number, shortPrompt(turn)))
		}
	}
	for _, task := range s.tasks {
		all = append(all, "- "+task.key+": "+task.state)
	}
	if more := len(all) - mostPrompts; more > 0 {
		all = append(all[:mostPrompts], fmt.Sprintf("and %d more", more))
	}
	return all
}
