package list_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/list"
)

// Anybody can write a commit that names many frames with many worktrees, and each pair is work for who follows the names.
func TestTheMessageOfACommitNamesABoundedNumberOfWorktrees(t *testing.T) {
	t.Parallel()
	var message strings.Builder
	message.WriteString("a landing\n\n")
	for frame := range 20 {
		fmt.Fprintf(&message, "Smithers-Frame: run:%d\n", frame)
		for task := range 20 {
			fmt.Fprintf(&message, "Smithers-Worktree: task%d\n", task)
		}
	}
	frames, worktrees := list.LandedFrames(message.String()), 0
	for _, one := range frames {
		worktrees += len(one.Worktrees)
	}
	assert.Len(t, frames, 20)
	assert.Equal(t, 100, worktrees)
}
