package snapshot

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/snapshot/row"
)

func TestMembersAreDeclaredInTheOrderOfTheirNames(t *testing.T) {
	t.Parallel()
	for kind, names := range map[string][]string{
		"node": memberNames(nodeKind.Fields), "loop": memberNames(loopKind.Fields), "attempt": memberNames(attemptKind.Fields),
		"approval": memberNames(approvalKind.Fields), "human request": memberNames(humanRequestKind.Fields),
		"signal": memberNames(signalKind.Fields), "wait": memberNames(waitKind.Fields), "op": memberNames(opKind.Fields),
		"run.json": memberNames(runFields), "parent": memberNames(parentFields), "vcs.json": memberNames(vcsFields),
		"worktree": memberNames(worktreeFields), "altered": memberNames(alteredFields), "left out": memberNames(leftOutFields),
	} {
		assert.True(t, row.IsSet(names), "%s: %v", kind, names)
		assert.False(t, slices.ContainsFunc(names, func(name string) bool { return strings.ContainsAny(name, `"\`) }), kind)
	}
}

func memberNames[T any](fields []row.Field[T]) []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}
