package dialect_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
)

func TestAnAgentGoesOnWithoutATerminal(t *testing.T) {
	t.Parallel()
	flags := []string{"--model", "a b"}
	for name, want := range map[string]struct{ fresh, began, heard string }{
		dialect.Claude: {"claude|-p|--session-id|S|--model|a b", "claude|-p|--resume|S|--model|a b", "claude|-p|--resume|S|--model|a b"},
		dialect.Codex:  {"codex|exec|--model|a b|resume|S|-", "codex|exec|--model|a b|resume|S|-", "codex|exec|--model|a b|resume|S|-"},
		dialect.Gemini: {"gemini|--session-id|S|--model|a b", "gemini|--resume|S|--model|a b", "gemini|--resume|S|--model|a b"},
		dialect.Pi:     {"pi|-p|--session|S|--model|a b", "pi|-p|--session|S|--model|a b", "pi|-p|--session|S|--model|a b"},
		dialect.Opencode: {
			"opencode|/h/.local/share/opencode/git-smithers/S.json|S|--model|a b", "opencode|/h/.local/share/opencode/git-smithers/S.json|S|--model|a b",
			"opencode|run|--session|S|--model|a b",
		},
	} {
		speaks, ok := dialect.Of(name)
		require.True(t, ok)
		for _, one := range []struct {
			seat dialect.Seat
			want string
		}{{dialect.Seat{}, want.fresh}, {dialect.Seat{Began: true}, want.began}, {dialect.Seat{Heard: true}, want.heard}} {
			one.seat.Session, one.seat.Flags, one.seat.Env = "S", flags, []string{"HOME=/h"}
			words, err := speaks.Headless(one.seat)
			require.NoError(t, err)
			if words[0] == "sh" { // a line that is always the same
				assert.NotContains(t, words[2], "a b")
				words = words[3:]
			}
			assert.Equal(t, one.want, strings.Join(words, "|"), name)
		}
	}
	speaks, ok := dialect.Of(dialect.Generic)
	require.True(t, ok)
	assert.Nil(t, speaks.Headless)
}
