package cli_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
)

func TestEachCommandIsFoundInTheTopicThatIsBuiltForIt(t *testing.T) {
	t.Parallel()
	whole := cli.CommandTree(nil)
	for _, command := range whole.Children {
		of := cli.CommandTree([]string{command.Name})
		found := of.Child(command.Name)
		require.NotNil(t, found, command.Name)
		assert.Equal(t, command.Path, found.Path)
		assert.Equal(t, command.About, found.About, command.Name)
		assert.Len(t, found.Flags, len(command.Flags), command.Name)
	}
	for _, hot := range []string{"version", "capture", "session", "runs", "timeline", "show", "run"} {
		assert.Less(t, len(cli.CommandTree([]string{hot}).Children), len(whole.Children)/2, hot)
	}
	for _, line := range [][]string{{"--json", "runs"}, {"help"}, {"unknown"}} {
		assert.Len(t, cli.CommandTree(line).Children, len(whole.Children), line)
	}
}
