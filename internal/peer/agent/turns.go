package agent

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Turn is a turn of a session.
type Turn struct {
	Number int
	Prompt string // "" if it was not stored
	// Run and Frame are the last frame of the turn: of the session or, for a turn from before a fork, of the run that the session
	// descends from. Frame is NoFrame if it was not looked for.
	Run   string
	Frame int64
}

// Dialogue is what a session says about itself.
type Dialogue struct {
	Agent    string
	CoAuthor string // of commits: the agent's name and address; "" if the agent has none
	Turns    []Turn // oldest first
}

// DialogueAt returns the turns of a session up to an entry. The frames of turns that ended with the entry since or before it are
// not looked for; a zero id means that all are. DialogueAt returns nil if the run is not a session.
func DialogueAt(ctx context.Context, s *timeline.Store, at *timeline.LoadedEntry, since objstore.ID) (*Dialogue, error) {
	if !IsSession(at.Entry) {
		return nil, nil //nolint:nilnil // nil means that the run is not a session
	}
	mem, err := memoryOf(at.Entry)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	state, err := at.Entry.State()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	out := &Dialogue{Agent: mem.Agent}
	if speaks, ok := dialect.Of(mem.Agent); ok {
		out.CoAuthor = speaks.CoAuthor
	}
	last := make(map[int]timeline.Address)
	for entry, err := range snapshot.Ancestry(s.Objects(), at.Entry) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if entry.ID == since {
			break
		}
		if entry.Frame == snapshot.NoFrame || !IsSession(entry) {
			continue
		}
		then, err := memoryOf(entry)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if _, known := last[then.Turn]; !known {
			last[then.Turn] = timeline.Address{Run: entry.Run, Frame: entry.Frame}
		}
		if then.Turn == 0 {
			break
		}
	}
	for number := 1; number <= mem.Turn; number++ {
		prompt, _, err := PromptOf(state, number)
		if err != nil {
			return nil, err
		}
		turn := Turn{Number: number, Prompt: prompt, Frame: snapshot.NoFrame}
		if end, ok := last[number]; ok {
			turn.Run, turn.Frame = end.Run, end.Frame
		}
		out.Turns = append(out.Turns, turn)
	}
	return out, nil
}

// TurnOf is the turn of a session to which an entry belongs.
type TurnOf struct {
	Agent  string
	Model  string // that answered last; "" if it is unknown
	Number int    // 0 before the first prompt
}

// TurnAt returns the turn of an entry, or nil if its run is not a session.
func TurnAt(entry *snapshot.Entry) (*TurnOf, error) {
	if !IsSession(entry) {
		return nil, nil //nolint:nilnil // nil means that the run is not a session
	}
	mem, err := memoryOf(entry)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	out := &TurnOf{Agent: mem.Agent, Number: mem.Turn}
	if n := len(mem.Transcripts); n > 0 {
		out.Model = mem.Read[mem.Transcripts[n-1]].Model
	}
	return out, nil
}
