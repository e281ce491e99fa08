package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAFrameIsMadeAfterSomeBatches(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.Git("config", "smithers.session.every", "3")
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	var frames []int64
	for i := range 7 {
		s.event("PostToolBatch", batch(fmt.Sprint("c", i)))
		s.event("PostToolBatch", `,"tool_calls":[{"tool_name":"Read","tool_use_id":"r"}]`)
		frames = append(frames, s.tip().Frame)
	}
	assert.Equal(t, []int64{0, 0, 1, 1, 1, 2, 2}, frames)
	s.event("Stop", "")
	assert.EqualValues(t, 3, s.tip().Frame, "the answer makes one")
	s.event("PostToolBatch", batch("c8"))
	assert.EqualValues(t, 3, s.tip().Frame, "the count begins again")
}

func TestWhatIsStoredOfAConversation(t *testing.T) {
	t.Parallel()
	image := strings.Repeat("iVBORw0K", 64)
	lines := []string{
		`{"type":"user","message":{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + image + `"}}]}}` + "\n",
		`{"type":"attachment","text":"the words of the vendor"}` + "\n",
		`{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}` + "\n",
	}
	for keep, want := range map[string]struct{ image, vendor, any bool }{
		"": {any: true}, "slim": {any: true}, "images": {any: true, image: true}, "full": {any: true, image: true, vendor: true}, "off": {},
	} {
		t.Run(keep, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, repotest.New(t, repotest.Commit))
			if keep != "" {
				s.Git("config", "smithers.session.transcript", keep)
			}
			s.event("UserPromptSubmit", `,"prompt":"one"`)
			s.say(lines...)
			s.event("Stop", "")
			said := strings.Join(s.said()["s"], "\n")
			assert.Equal(t, want.any, strings.Contains(said, "Done."))
			assert.Equal(t, want.image, strings.Contains(said, image))
			assert.Equal(t, want.any && !want.image, strings.Contains(said, "an image was left out: 512 bytes"))
			assert.Equal(t, want.vendor, strings.Contains(said, "words of the vendor"))
		})
	}
}

func TestASettingThatIsWrongIsSaidByTheStatus(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	for key, value := range map[string]string{"durability": "often", "every": "0", "keep": "-1d", "push": "perhaps", "transcript": "some"} {
		s.Git("config", "smithers.session."+key, value)
		s.event("UserPromptSubmit", `,"prompt":"one"`)
		assert.Contains(t, s.last().Warning, "smithers.session."+key, "the hook records all the same")
		_, err := timeline.Open(t.Context(), timeline.Options{Dir: s.Dir, Env: s.Env, Now: time.Now})
		assert.ErrorContains(t, err, "smithers.session."+key)
		s.Git("config", "--unset", "smithers.session."+key)
	}
}

func TestALongSessionHasFewRefs(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	for i := range 140 {
		s.event("PostToolBatch", batch(fmt.Sprint("c", i)))
	}
	refs := strings.Fields(s.Git("for-each-ref", "--format=%(refname)", "refs/smithers/claude-s/"))
	assert.Len(t, refs, 14, "frames 127 to 140")
	assert.Equal(t, s.tip().ID.String(), s.Git("rev-parse", "refs/smithers/claude-s/140"))
}

func TestACheckpointKeepsTheFilesAndTheConversationOfNow(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	s.event("SessionEnd", "")
	s.Write("made", "x")
	s.say(`{"n":1}` + "\n")
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: s.Dir, Env: s.Env, Now: time.Now})
	require.NoError(t, err)
	defer func() { assert.NoError(t, store.Close()) }()
	for i, label := range []string{"before the rewrite", ""} {
		at, err := agent.MakeCheckpoint(t.Context(), store, "claude-s", label)
		require.NoError(t, err)
		assert.EqualValues(t, 2+i, at.Frame)
		loaded, err := store.Load(t.Context(), fmt.Sprintf("claude-s@checkpoint:%d", i+1))
		require.NoError(t, err)
		assert.Equal(t, at, loaded.Address)
	}
	assert.Contains(t, s.Git("ls-tree", "--name-only", "refs/smithers/claude-s/2:worktree"), "made")
	assert.Equal(t, map[string][]string{"s": {`{"n":1}`}}, s.said())
	assert.Contains(t, s.Git("log", "-1", "--format=%s", "refs/smithers/claude-s/2"), "checkpoint: before the rewrite")
	row, err := s.tip().RunRow()
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, row.Status, "the session has ended, and stays so")
	_, err = agent.MakeCheckpoint(t.Context(), store, "claude-none", "")
	assert.Equal(t, fault.RunNotFound, fault.CodeOf(err))
}
