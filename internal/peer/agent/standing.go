package agent

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// sessionAt returns the memory of a session at an entry, and the dialect of its agent. Code: invalid_input if the run is not a session.
func sessionAt(at *timeline.LoadedEntry) (*memory, *dialect.Dialect, error) {
	mem, err := memoryOf(at.Entry)
	if err != nil {
		return nil, nil, fault.New(fault.InvalidInput, "%s: %w", at.Address, err).
			Hint("`%s runs` lists the runs; the name of a session begins with the name of its agent", fault.Program)
	}
	return mem, dialect.For(mem.Agent), nil
}

// PromptOf returns the prompt and the answer of a turn. Both are "" if there is none.
func PromptOf(state *snapshot.State, turn int) (prompt, answer string, err error) {
	value, found, err := state.Outputs(promptsTable).Get(snapshot.Key(turnNode, turn))
	if err != nil || !found {
		return "", "", timeline.Explain(err)
	}
	var row struct{ Prompt, Answer string }
	_ = json.Unmarshal(value, &row) // another writer's row may have another form
	return row.Prompt, row.Answer, nil
}
