package display

import (
	"fmt"
	"strconv"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Op describes an operation on a run in a few words, such as "travel to before fix::0::1" or "back to frame 3". An
// operation made by another engine, which runs the run, is described in other words.
func Op(op snapshot.Op) string {
	text := op.Kind
	key := snapshot.AttemptKey(op.NodeID, op.Iteration, op.Attempt)
	switch { // the cases of an engine come first, because an engine's operations have the same kinds
	case op.ByEngine() && op.Kind == snapshot.OpUndo:
		// The operation op.Undoes was made with git smithers. The engine took it back.
		text = fmt.Sprintf("undo of op %d: the engine continued from frame %d", op.Undoes, *op.To)
	case op.ByEngine():
		text = "rewound to frame " + strconv.FormatInt(*op.To, 10)
	case op.Kind == snapshot.OpUndo:
		text += " of op " + strconv.Itoa(op.Undoes)
	case op.Kind == snapshot.OpReset && op.To != nil && *op.To > 0: // a reset to the beginning has To 0
		text = "back to frame " + strconv.FormatInt(*op.To, 10)
	case op.Kind == snapshot.OpRevert && op.Attempt == 0: // what the node had changed was taken back
		text += " of " + snapshot.Key(op.NodeID, op.Iteration)
	case op.Kind == snapshot.OpRevert:
		text += " to after " + key
	case op.NoDeps:
		// only this node is pending again, and not the nodes that need it
		text = snapshot.Key(op.NodeID, op.Iteration) + " again, alone"
	case op.Kind == snapshot.OpTravel:
		text += " to before " + key
	}
	if op.Worktree != "" {
		text += ", in its own worktree"
	}
	return text
}
