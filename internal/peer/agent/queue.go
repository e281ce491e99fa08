package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// queue follows the words that a person types while the agent works: they wait, and the agent hears them between two calls or as the next
// prompt. A T stands for the words of a line.
type queue[T any] []T

// take takes in a line. words stands for its words, if they begin to wait. It returns what stands for the words that the agent heard with the
// line within its turn, and whether there are any.
func (q *queue[T]) take(line dialect.Line, words T) (first T, heard bool) {
	of := line.Queued
	switch {
	case of == nil:
	case of.Text != "":
		if len(*q) < maxQueued {
			*q = append(*q, words)
		}
	case of.Cleared:
		*q = nil
	case len(*q) > 0:
		next := (*q)[0]
		if *q = (*q)[1:]; of.Heard {
			return next, true
		}
	}
	return first, false
}

// queuedIn returns the words that begin to wait with a line, or "".
func queuedIn(line dialect.Line) string {
	if line.Queued == nil {
		return ""
	}
	return line.Queued.Text
}

// withSaid returns a prompt with a text that the user said later in its turn. Some agents write a line again.
func withSaid(prompt, text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if text == "" || slices.Contains(strings.Split(prompt, betweenTexts), text) || prompt == text {
		return prompt
	}
	return prompt + betweenTexts + text
}

// hear takes in what the user says in a line of the session's own file, at path, while the agent works.
func (d *drafter) hear(path string, line dialect.Line) error {
	said := besideOf(line)
	if offset, heard := d.mem.Waiting.take(line, line.Offset); heard {
		lines, _, err := readLines(path, offset, d.speaks, timeline.TranscriptFull, mostRead, 1)
		if unreadable := (*unreadableError)(nil); err != nil && !errors.As(err, &unreadable) && !errors.Is(err, errRewritten) {
			return err
		}
		for _, l := range lines {
			said = append(said, queuedIn(l))
		}
	}
	if len(said) == 0 || d.mem.Turn == 0 || d.head == nil {
		return nil
	}
	if err := d.readRow(true); err != nil || d.row == nil {
		return err
	}
	for _, text := range said {
		d.row["prompt"] = withSaid(d.row["prompt"], text)
	}
	return nil
}

// readRow sets row, unless it is set. reveal puts the secrets that this clone has taken out of it into it, so that it can be changed and stored; without them,
// only another member can.
func (d *drafter) readRow(reveal bool) error {
	if d.row != nil {
		return nil
	}
	at := snapshot.Place{Collection: "outputs/" + promptsTable, Key: snapshot.Key(turnNode, d.mem.Turn)}
	value, found, err := d.head.State().Outputs(promptsTable).Get(at.Key)
	if err == nil && found && reveal {
		whole, lookErr := d.store.Secrets(d.head.Row()).Look(at, value)
		value, found, err = whole.Text, len(whole.Missing) == 0, lookErr
	}
	if err != nil || !found {
		return timeline.Explain(err)
	}
	d.reveals = reveal
	if err := json.Unmarshal(value, &d.row); err != nil {
		return fmt.Errorf("the prompt of the turn: %w", err)
	}
	return nil
}

// setRow stores row.
func (d *drafter) setRow() error {
	if d.row == nil {
		return nil
	}
	err := d.output(promptsTable, d.row)
	d.out.Frame.State[len(d.out.Frame.State)-1].Amends = !d.reveals
	d.row, d.changed = nil, true
	return err
}

// maxQueued is the largest number of words that wait.
const maxQueued = 1000

// besideOf returns what the user says in a line beside the result of a call: it begins no turn.
func besideOf(line dialect.Line) (texts []string) {
	for _, said := range line.Said {
		if said.Beside && !line.Aside {
			texts = append(texts, said.Text)
		}
	}
	return texts
}
