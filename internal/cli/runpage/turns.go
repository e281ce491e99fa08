package runpage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// turnsOpen is how many of the newest turns of a session show their calls.
const turnsOpen = 20

// callsShown is the largest number of calls that a turn shows one by one.
const callsShown = 20

// A turn is a turn of a session.
type turn struct {
	step        *summary.Step
	prompt      string
	first, last int64 // its frames; first is above last if they are unknown
	calls       int
	failed      int
	lines       *sqliteindex.Lines
	shown       []summary.Call // the calls that failed or changed files, of an open turn
	folded      string         // the other calls, counted by tool; "" if there are none or all calls are folded
}

// readTurns sets turns if the run is a session.
func (v *View) readTurns() error {
	if !v.Session {
		return nil
	}
	for i := range v.Steps {
		t, err := v.readTurn(&v.Steps[i], i >= len(v.Steps)-turnsOpen)
		if err != nil {
			return err
		}
		v.turns = append(v.turns, *t)
	}
	v.readTurnFrames()
	return nil
}

// readTurn reads a turn. open reports whether it shows its calls.
func (v *View) readTurn(step *summary.Step, open bool) (*turn, error) {
	t := &turn{step: step, first: 0, last: -1}
	var err error
	if t.prompt, _, err = v.Prompt(step); err != nil {
		return nil, err
	}
	calls, err := v.ToolCalls(step)
	if err != nil {
		return nil, err
	}
	if t.lines, err = v.TurnLines(step); err != nil {
		return nil, err
	}
	others := make(map[string]int)
	for i := range calls {
		call := &calls[i]
		t.calls++
		failed := call.Status == snapshot.ToolCallFailed
		if failed {
			t.failed++
		}
		if worth := open && (failed || call.Changed); !worth || len(t.shown) == callsShown {
			others[call.ToolName]++
			continue
		}
		t.shown = append(t.shown, *call)
	}
	if open {
		t.folded = countByName(others)
	}
	return t, nil
}

// readTurnFrames sets the frames of the turns: a turn begins with the frame that has the id of its prompt.
func (v *View) readTurnFrames() {
	begins := make(map[string]int, len(v.turns))
	for i := range v.turns {
		begins[fmt.Sprintf("turn:%d", v.turns[i].step.Iteration)] = i
	}
	at := -1
	for _, f := range v.Frames.Frames {
		for _, id := range f.IDs {
			if i, ok := begins[id]; ok {
				at = i
				v.turns[i].first = f.FrameNo
			}
		}
		if at >= 0 {
			v.turns[at].last = f.FrameNo
		}
	}
}

// toolsNamed is how many tools the count of folded calls names.
const toolsNamed = 4

// countByName returns numbers of calls by tool, in words, the most frequent first. It returns "" for no calls.
func countByName(calls map[string]int) string {
	names := make([]string, 0, len(calls))
	total := 0
	for name, n := range calls {
		names = append(names, name)
		total += n
	}
	if total == 0 {
		return ""
	}
	all := count(total, "call")
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(calls[b], calls[a]), cmp.Compare(a, b)) })
	parts := make([]string, 0, toolsNamed)
	for _, name := range names[:min(len(names), toolsNamed)] {
		parts = append(parts, fmt.Sprintf("%s %d", name, calls[name]))
		total -= calls[name]
	}
	if total > 0 {
		parts = append(parts, fmt.Sprintf("others %d", total))
	}
	return all + ": " + strings.Join(parts, ", ")
}
