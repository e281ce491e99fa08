package inspect

import (
	"strconv"

	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/snapshot"
)

// called writes a table of the runs that attempts have called, each once, with the newest attempt that did.
func (v *stateView) called(entry *snapshot.Entry) error {
	t := term.Table{Header: []string{"NODE", "ITERATION", "ATTEMPT", "STATE", "RUN"}}
	at := make(map[string]int) // the row of each run
	for a, err := range entry.AllAttempts() {
		if err != nil {
			return err
		}
		if a.Child == "" {
			continue
		}
		cells := []term.Cell{{Text: a.NodeID}, {Text: strconv.Itoa(a.Iteration)}, {Text: strconv.Itoa(a.Attempt)}, {Text: a.State, Paint: v.p.Status}, {Text: a.Child}}
		if i, ok := at[a.Child]; ok {
			t.Rows[i] = cells
			continue
		}
		at[a.Child] = len(t.Rows)
		t.Add(cells...)
	}
	v.table("Called runs", &t)
	return nil
}
