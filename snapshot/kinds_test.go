package snapshot

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// declared is the names of the members of everything that docs/format.md has a table of.
func declared() map[string][]string {
	return map[string][]string{
		"node": memberNames(nodeKind.Fields), "attempt": memberNames(attemptKind.Fields), "tool call": memberNames(toolCallKind.Fields), "approval": memberNames(approvalKind.Fields),
		"human request": memberNames(humanRequestKind.Fields), "signal": memberNames(signalKind.Fields), "wait": memberNames(waitKind.Fields),
		"op": memberNames(opKind.Fields), "run.json": memberNames(runFields), "vcs.json": memberNames(vcsFields),
	}
}

func memberNames[T any](fields []row.Field[T]) []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}

func TestMembersAreDeclaredInTheOrderOfTheirNames(t *testing.T) {
	t.Parallel()
	all := declared()
	all["loop"], all["parent"], all["worktree"] = memberNames(loopKind.Fields), memberNames(parentFields), memberNames(worktreeFields)
	all["range"] = memberNames(transcriptRangeFields)
	all["altered"], all["left out"] = memberNames(alteredFields), memberNames(leftOutFields)
	for kind, names := range all {
		assert.True(t, row.IsSet(names), "%s: %v", kind, names)
		assert.False(t, slices.ContainsFunc(names, func(name string) bool { return strings.ContainsAny(name, `"\`) }), kind)
	}
}

// documented returns the line of docs/format.md about a collection.
func documented(c *collection) string {
	in, hash, back, fork, member := c.name, "no", "yes", "goes on", "is refused"
	switch c.place {
	case inState:
		hash = "covers it"
	case inMailbox:
	case inJournal:
		in, back = "journal/"+c.name, "no"
	}
	if c.ownToRun {
		fork = "begins anew"
	}
	switch {
	case c.carry != nil:
		member = "is carried"
	case c.name == CollectionLogs:
		member = "does not occur: a row is a string"
	case c.name == CollectionTranscript:
		member = "does not occur: a row is an array"
	}
	return fmt.Sprintf("| `%s` | `%s` | %s | %s | %s | %s |", c.name, in, hash, back, fork, member)
}

func TestEveryCollectionIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "format.md"))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| collection | in | content hash | goes back with a travel | in a fork | an unknown member |\n|---|---|---|---|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	want := []string{"| `outputs/<table>` | `outputs-<table>` | covers it | yes | goes on | is the user's |"}
	for _, c := range registered {
		want = append(want, documented(c))
	}
	assert.ElementsMatch(t, want, strings.Split(table, "\n"))
}

func TestEveryMemberIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "format.md"))
	require.NoError(t, err)
	var tables [][]string
	for _, table := range strings.Split(string(page), "| member | |\n|---|---|\n")[1:] {
		var names []string
		for line := range strings.Lines(table) {
			if !strings.HasPrefix(line, "| `") {
				break
			}
			first, _, _ := strings.Cut(line[2:], "|")
			for _, name := range regexp.MustCompile("`([a-zA-Z]+)`").FindAllStringSubmatch(first, -1) {
				names = append(names, name[1])
			}
		}
		slices.Sort(names)
		tables = append(tables, names)
	}
	for kind, names := range declared() {
		assert.Contains(t, tables, names, kind)
	}
}
