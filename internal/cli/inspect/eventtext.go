package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// writeEvents prints each event as one JSON object. The object has the members "kind":"event" and seq, the number of
// the event, and then the members of the payload. If the payload has a member kind of its own, this member replaces
// "kind":"event". A payload that is not a JSON object is an error.
func writeEvents(s *session.Session, list []sqliteindex.EventRow) error {
	for _, event := range list {
		members, ok := strings.CutPrefix(strings.TrimSpace(event.Payload), "{")
		if !ok {
			return fmt.Errorf("the payload of event %d is not a JSON object", event.Seq)
		}
		comma := ","
		if strings.TrimSpace(members) == "}" {
			comma = "" // the payload is {}
		}
		kind := `"kind":"event",`
		if saysKind(event.Payload) {
			kind = ""
		}
		line := json.RawMessage("{" + kind + `"seq":` + strconv.FormatInt(event.Seq, 10) + comma + members)
		if err := s.WriteJSON(line); err != nil {
			return err
		}
	}
	return nil
}

// saysKind reports whether payload is a JSON object with a member called kind.
func saysKind(payload string) bool {
	var members jsontext.Members
	// Most payloads do not contain the word kind, so saysKind need not decode these payloads.
	return strings.Contains(payload, "kind") && json.Unmarshal([]byte(payload), &members) == nil &&
		slices.ContainsFunc(members, func(m jsontext.Member) bool { return m.Name == "kind" })
}

// eventCells returns the cells of a table row about an event: number, time, type, task, and details.
func eventCells(event sqliteindex.EventRow) []term.Cell {
	task, facts := eventFacts(event.Payload)
	return []term.Cell{
		{Text: strconv.FormatInt(event.Seq, 10)},
		{Text: display.ClockTime(event.TimestampMs)},
		{Text: event.Type},
		{Text: task},
		{Text: facts},
	}
}

// eventFacts returns the task that an event is about, and the facts in its payload. task is "" if the event is about no
// task. facts has the members of the payload in the form name=value, separated by spaces. It leaves out the members
// that other columns show: the run, the type, the time and the task. If payload is not a JSON object, task is "" and
// facts is payload.
func eventFacts(payload string) (task, facts string) {
	var about struct {
		NodeID    string `json:"nodeId"`
		Iteration int    `json:"iteration"`
	}
	var members jsontext.Members
	if json.Unmarshal([]byte(payload), &about) != nil || json.Unmarshal([]byte(payload), &members) != nil {
		return "", payload
	}
	var said []string
	for _, m := range members {
		switch m.Name {
		case "runId", "type", "timestampMs", "nodeId", "iteration":
		default:
			said = append(said, m.Name+"="+plain.Shorten(factText(m.Value), display.ValueShown))
		}
	}
	if about.NodeID == "" {
		return "", strings.Join(said, " ")
	}
	return display.AttemptName(about.NodeID, about.Iteration), strings.Join(said, " ")
}

// factText returns a JSON value as text on one line. A string loses its quotes if it is not empty and has no spaces,
// quotes or equals signs.
func factText(value json.RawMessage) string {
	var word string
	if json.Unmarshal(value, &word) == nil && word != "" && !strings.ContainsAny(word, " \t\n\"=") {
		return word
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return string(value)
	}
	return compact.String()
}
