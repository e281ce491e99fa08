package captures

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	// subjectChanges is the maximal number of changes that a subject describes.
	subjectChanges = 32
	// subjectNames is the maximal number of names that a subject lists before one verb.
	subjectNames = 4
)

// captureSubject returns the subject of the commit for a capture that has no subject. The subject describes the
// first changes of draft, and the new status of the run if req sets it. It uses the words of git-smithers' own
// engine. Without changes and status, the subject is the type of the first event, with the number of further
// events. Without events, the subject is "captured".
func captureSubject(req *Capture, draft snapshot.Draft) string {
	var told []phrase
	changes := draft.StateChanges()
	for _, change := range changes[:min(subjectChanges, len(changes))] {
		told = addPhrase(told, change)
	}
	if req.Run != nil && req.Run.Status != nil {
		told = append(told, phrase{[]string{"run"}, strings.ReplaceAll(string(*req.Run.Status), "-", " for ")})
	}
	if len(told) > 0 {
		return joinPhrases(told)
	}
	switch len(req.Events) {
	case 0:
		return "captured"
	case 1:
		return req.Events[0].Type
	}
	return fmt.Sprintf("%s and %d more events", req.Events[0].Type, len(req.Events)-1)
}

// phrase is a verb with the names that it applies to.
type phrase struct {
	names []string
	verb  string
}

// addPhrase adds the description of change to told, and returns told. If told has a phrase with the same verb,
// addPhrase adds only the name of the changed row to that phrase.
func addPhrase(told []phrase, change snapshot.Change) []phrase {
	// "::0" at the end of a key is iteration 0, which the subject leaves out
	name, verb := strings.TrimSuffix(change.Key, "::0"), changeVerb(change)
	if change.Collection == snapshot.CollectionInput {
		name = "input"
	}
	for i := range told {
		if told[i].verb == verb {
			told[i].names = append(told[i].names, name)
			return told
		}
	}
	return append(told, phrase{[]string{name}, verb})
}

// joinPhrases returns the text of told, with at most subjectNames names in each phrase.
func joinPhrases(told []phrase) string {
	parts := make([]string, len(told))
	for i, p := range told {
		names := strings.Join(p.names[:min(subjectNames, len(p.names))], ", ")
		if more := len(p.names) - subjectNames; more > 0 {
			names += " and " + strconv.Itoa(more) + " more"
		}
		parts[i] = names + " " + p.verb
	}
	return strings.Join(parts, "; ")
}

// nodeVerbs has the verbs for nodes that enter a state. The verb for another state is the name of the state.
var nodeVerbs = map[snapshot.NodeState]string{
	snapshot.NodeInProgress:      "started",
	snapshot.NodeWaitingApproval: "waits for approval",
	snapshot.NodeWaitingHuman:    "waits for an answer",
	snapshot.NodeWaitingEvent:    "waits for a signal",
	snapshot.NodeWaitingTimer:    "waits for its timer",
}

// changeVerb returns the words that follow the name of a changed row in a subject:
//   - for a removed row, "removed"
//   - for an output, "put out" and the output's table
//   - for a node, a word for its state
//   - for a loop, "done" or its iteration
//   - for any other row, its status
//
// If the row has no state or status, changeVerb returns "set".
func changeVerb(change snapshot.Change) string {
	if change.Op == snapshot.OpRemove {
		return "removed"
	}
	var row struct {
		State     snapshot.NodeState `json:"state"`
		Status    string             `json:"status"`
		Iteration int                `json:"iteration"`
		Done      bool               `json:"done"`
	}
	// An invalid value leaves row empty. The append refuses the change.
	_ = json.Unmarshal(change.Value, &row)
	table, isOutput := strings.CutPrefix(change.Collection, snapshot.OutputCollection(""))
	switch {
	case isOutput:
		return "put out " + table
	case change.Collection == snapshot.CollectionNodes && nodeVerbs[row.State] != "":
		return nodeVerbs[row.State]
	case change.Collection == snapshot.CollectionNodes && row.State != "":
		return string(row.State)
	case change.Collection == snapshot.CollectionLoops && row.Done:
		return "done"
	case change.Collection == snapshot.CollectionLoops:
		return "at iteration " + strconv.Itoa(row.Iteration)
	case row.Status != "":
		return row.Status
	}
	return "set"
}
