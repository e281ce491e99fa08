package dbrun

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// FrameSubject is the subject of a frame's entry: why Smithers made the frame, as the last of the
// events that belong to it says, and Smithers' number where that is not ours. nodes are the frame's.
func FrameSubject(events []Event, no, ours int64, nodes []snapshot.Node) string {
	subject := fmt.Sprintf("smithers frame %d", no)
	for _, e := range events {
		if e.kind == "FrameCommitted" {
			if why := reasonOf(e, nodes); why != "" {
				subject = why
			}
		}
	}
	if no != ours && !strings.HasPrefix(subject, "smithers frame") {
		subject += fmt.Sprintf(" (smithers frame %d)", no)
	}
	return subject
}

// reasonOf is what made Smithers commit a frame; "" where it does not say. A reason such as
// task-finished is of the node that it names, and also that of a task that has failed.
func reasonOf(e Event, nodes []snapshot.Node) string {
	var payload struct {
		Trigger struct {
			Reason    string
			NodeID    string
			Iteration int
		}
	}
	if json.Unmarshal([]byte(dbrow.TextOf(e.Row, "payload_json")), &payload) != nil {
		return ""
	}
	why := payload.Trigger
	if why.NodeID == "" || why.Reason == "" {
		return strings.ReplaceAll(why.Reason, "-", " ")
	}
	node := why.NodeID
	if why.Iteration > 0 {
		node += fmt.Sprintf(" %d", why.Iteration)
	}
	became := strings.TrimPrefix(why.Reason, "task-")
	for _, n := range nodes {
		if became == string(snapshot.NodeFinished) && n.State == snapshot.NodeFailed && n.NodeID == why.NodeID && n.Iteration == why.Iteration {
			became = string(snapshot.NodeFailed)
		}
	}
	return node + " " + strings.ReplaceAll(became, "-", " ")
}
