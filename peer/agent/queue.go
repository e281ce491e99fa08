package agent

import "github.com/git-smithers/git-smithers/peer/agent/dialect"

// queue follows the words that a person types while the agent works: they wait, and the agent hears them between two calls or as the next
// prompt.
type queue struct{ waiting []string }

// take takes in a line, and returns the words that the agent heard with it within its turn, or "".
func (q *queue) take(line dialect.Line) (heard string) {
	of := line.Queued
	switch {
	case of == nil:
	case of.Text != "":
		if len(q.waiting) < maxQueued {
			q.waiting = append(q.waiting, of.Text)
		}
	case of.Cleared:
		q.waiting = nil
	case len(q.waiting) > 0:
		first := q.waiting[0]
		if q.waiting = q.waiting[1:]; of.Heard {
			return first
		}
	}
	return ""
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
