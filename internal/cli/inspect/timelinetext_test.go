package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestANarrowTimelineCutsNamesAndWhatStandsBelow(t *testing.T) {
	t.Parallel()
	name := &agent.Name{Prompt: "テストを全部直してから、変更を説明するメッセージを書いてください"}
	text := timelineText{
		zone: time.UTC, width: 50, names: map[string]*agent.Name{"s": name, "f": name}, waits: map[string]string{"s": strings.Repeat("waits ", 20)},
		left: map[string][]snapshot.LeftOut{"s": {{Path: "a-folder-with-a-long-name", Reason: snapshot.LeftDirty}, {Path: "nested", Reason: snapshot.LeftEmbedded}}},
	}
	var b strings.Builder
	text.write(&b, &list.Tree{Timeline: list.RunTimeline{
		RunID: "s", Status: "running", Frames: []list.FrameInfo{{Forks: []list.ForkInfo{{RunID: "f"}}}},
	}}, "")
	for line := range strings.Lines(b.String()) {
		assert.LessOrEqual(t, term.Width(strings.TrimSuffix(line, "\n")), 50, line)
	}
	assert.Contains(t, b.String(), "s  running  テスト")
	assert.Contains(t, b.String(), "  |-- f (forked at frame 0)  テスト")
	assert.Contains(t, b.String(), "  not in the frames: a-folder-with-a-long-name (a…\n")
}
