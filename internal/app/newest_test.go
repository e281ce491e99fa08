package app_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/app"
)

func TestANameOfANewestRunIsSplitFromTheFrame(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"@": {"@", ""}, "@session": {"@session", ""}, "@run": {"@run", ""},
		"@:3": {"@", "3"}, "@:turn:3": {"@", "turn:3"}, "@@call_2": {"@", "call_2"}, "@call_2": {"@", "call_2"}, "@turn:3": {"@", "turn:3"},
		"@session:3": {"@session", "3"}, "@session:turn:3": {"@session", "turn:3"}, "@session@call_2": {"@session", "call_2"},
		"@run:3": {"@run", "3"}, "@run:smithers/7": {"@run", "smithers/7"},
		"@runs": {"@", "runs"}, "@sessions:3": {"@", "sessions:3"}, "@:session": {"@", "session"}, // ids of frames
	} {
		name, frame, ok := app.SplitNewest(text)
		assert.True(t, ok, text)
		assert.Equal(t, want, [2]string{name, frame}, text)
	}
	for _, text := range []string{"", "a", "a@b", "run", "session", ":3", "@:", "@@"} {
		_, _, ok := app.SplitNewest(text)
		assert.False(t, ok, text)
	}
}
