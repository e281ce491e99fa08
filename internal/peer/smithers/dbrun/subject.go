package dbrun

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// FrameSubject returns the subject of a frame's entry. The subject is the reason in the last FrameCommitted of
// events that has a reason, or else "smithers frame <no>". no is Smithers' number of the frame, and ours is
// git-smithers' number. If no and ours differ, the subject has Smithers' number after the reason. nodes has the
// frame's nodes.
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

// reasonOf returns Smithers' reason for a frame as text. e is the frame's FrameCommitted, and nodes has the
// frame's nodes. If e has no reason, the result is "". If e names a node, the text begins with the node's id,
// followed by the iteration if it is above 0. Hyphens in the reason become spaces, and the prefix "task-" is
// left out.
//
// Smithers says "finished" even for a failed task. For a node that failed, reasonOf says "failed" instead.
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
