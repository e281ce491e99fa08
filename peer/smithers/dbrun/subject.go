package dbrun

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// FrameSubject returns the subject of a frame's entry: the reason in the last FrameCommitted of events that has a
// reason, or else "smithers frame <no>". no is Smithers' number of the frame, ours git-smithers' number, and nodes
// the frame's nodes. If no and ours differ, the subject has Smithers' number after the reason.
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

// reasonOf returns Smithers' reason for a frame from e, the frame's FrameCommitted, or "" if e has no reason. The
// reason begins with the node, if e has a node. Smithers says "finished" even for a failed task: reasonOf then says
// "failed", as in the state of the node in nodes.
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
