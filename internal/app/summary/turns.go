package summary

import (
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

const (
	turnsOpen  = 20 // how many of the newest turns of a session show their calls
	callsShown = 20 // the largest number of calls that a turn shows one by one
)

// A Turn is a turn of a session.
type Turn struct {
	Number int                `json:"turn"`
	State  snapshot.NodeState `json:"state"`
	Prompt string             `json:"prompt"`
	Calls  int                `json:"calls"`
	Failed int                `json:"failed"` // calls
	TookMs int64              `json:"tookMs"`
	LineCount
	First *int64 `json:"firstFrame"` // nil if its frames are unknown
	Last  *int64 `json:"lastFrame"`

	Lines  *sqliteindex.Lines `json:"-"`
	Shown  []Call             `json:"-"` // the calls that failed or changed files, of an open turn
	Folded map[string]int     `json:"-"` // the numbers of its other calls, by tool, of an open turn
}

// readTurns sets Turns if the run is a session.
func (sum *Summary) readTurns() error {
	if !sum.Session {
		return nil
	}
	for i := range sum.Steps {
		t, err := sum.readTurn(&sum.Steps[i], i >= len(sum.Steps)-turnsOpen)
		if err != nil {
			return err
		}
		sum.Turns = append(sum.Turns, *t)
	}
	sum.readTurnFrames()
	return nil
}

// readTurn reads a turn. open reports whether it shows its calls.
func (sum *Summary) readTurn(step *Step, open bool) (*Turn, error) {
	t := &Turn{Number: step.Iteration, State: step.State, Folded: make(map[string]int)}
	t.TookMs, _ = step.TookMs()
	var err error
	if t.Prompt, _, err = sum.Prompt(step); err != nil {
		return nil, err
	}
	calls, err := sum.ToolCalls(step)
	if err != nil {
		return nil, err
	}
	if t.Lines, err = sum.TurnLines(step); err != nil {
		return nil, err
	}
	t.LineCount, t.Calls = countOf(t.Lines), len(calls)
	for _, call := range calls {
		failed := call.Status == snapshot.ToolCallFailed
		if failed {
			t.Failed++
		}
		switch {
		case !open:
		case (failed || call.Changed) && len(t.Shown) < callsShown:
			t.Shown = append(t.Shown, call)
		default:
			t.Folded[call.ToolName]++
		}
	}
	return t, nil
}

// readTurnFrames sets the frames of the turns: a turn begins with the frame that has the id of its prompt.
func (sum *Summary) readTurnFrames() {
	begins := make(map[string]int, len(sum.Turns))
	for i := range sum.Turns {
		begins[agent.TurnID(sum.Turns[i].Number)] = i
	}
	at := -1
	for i := range sum.Frames.Frames {
		f := &sum.Frames.Frames[i]
		for _, id := range f.IDs {
			if turn, ok := begins[id]; ok {
				at = turn
				sum.Turns[at].First = &f.FrameNo
			}
		}
		if at >= 0 {
			sum.Turns[at].Last = &f.FrameNo
		}
	}
}
