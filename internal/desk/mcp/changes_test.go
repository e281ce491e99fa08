package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// file returns the content of a.txt in the working copy.
func (w *world) file() string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.Dir, "a.txt"))
	require.NoError(w.t, err)
	return string(data)
}

// courses returns the folders that what_if has made.
func (w *world) courses() []string {
	w.t.Helper()
	found, err := filepath.Glob(w.Dir + "-what-if-*")
	require.NoError(w.t, err)
	return found
}

func TestACheckpointIsAFrameAndTheNextOneMustWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn("write it", "a.txt", "one\n", "written")
	c := w.connect(nil)
	w.Write("a.txt", "by hand\n")
	assert.Contains(t, c.call("checkpoint", "label", "before the rewrite"), "claude-s1:3")
	assert.Contains(t, c.refused("checkpoint"), "limit_exceeded: the last checkpoint was made less than a second ago")
	w.ms.Add(time.Second.Milliseconds())
	c.call("checkpoint")
	assert.Contains(t, c.call("timeline"), "before the rewrite")
	assert.Contains(t, c.call("diff", "from", "claude-s1:3"), "+by hand")
	for _, label := range []string{"-", "--json", "@a.txt"} {
		w.ms.Add(time.Second.Milliseconds())
		c.call("checkpoint", "label", label)
		assert.Regexp(t, "(?m) "+label+"$", c.call("timeline", "limit", 1))
	}
}

func TestARestoreHappensAfterThePersonHasAgreed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn("write it", "a.txt", "one\n", "written")
	w.turn("break it", "a.txt", "broken\n", "done")
	var questions []string
	yes, no, cancel := w.connect(asks("accept", &questions)), w.connect(asks("decline", &questions)), w.connect(asks("cancel", &questions))

	assert.Contains(t, no.refused("restore", "at", "claude-s1:1"), "unconfirmed: nobody has agreed: the agent's answer to the question was decline")
	assert.Contains(t, cancel.refused("restore", "at", "claude-s1:1"), "nobody has agreed")
	assert.Equal(t, "broken\n", w.file())
	require.Len(t, questions, 2)
	assert.Equal(t, "Restore the files of claude-s1:1 in "+w.Dir+"?\n1 file would change:\n  modify  a.txt\nUnsaved changes are kept as a frame first. No command runs.", questions[0])

	w.Write("a.txt", "unsaved\n")
	assert.Contains(t, yes.call("restore", "at", "@session:1"), "1 modified: the working copy has the files of claude-s1:1")
	assert.Equal(t, "one\n", w.file())
	assert.Contains(t, yes.call("search", "text", "unsaved", "in", "code"), "a.txt", "a frame has what was unsaved")
	assert.Len(t, questions, 3)
	assert.Contains(t, yes.call("restore", "at", "claude-s1:1"), "nothing to change")
	assert.Len(t, questions, 3, "nobody is asked about nothing")
	assert.Contains(t, yes.refused("restore", "at", "claude-s1:77"), "77")
}

func TestWhatIfShowsFolderPromptAndCommandFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn("write it", "a.txt", "one\n", "written")
	w.turn("break it", "a.txt", "broken\n", "done")
	w.Git("config", "--global", "smithers.worktree.setup", "echo ready >ready.txt")
	var questions []string
	require.Contains(t, w.connect(asks("decline", &questions)).refused("what_if", "at", "@session:turn:2"), "nobody has agreed")
	assert.Empty(t, w.courses())
	text := w.connect(asks("accept", &questions)).call("what_if", "at", "@session:turn:2", "prompt", "Write \x1b[2Jtests\u202e first.")
	require.Len(t, questions, 2)
	made := w.courses()
	require.Len(t, made, 1)
	assert.Equal(t, "Take another course of the session from claude-s1:3 on?\n"+
		"The files of that frame go into the new folder "+made[0]+"\n"+
		"0 of 0 lines of the conversation are kept.\n"+
		`The first prompt there: Write \x1b[2Jtests\u202e first.`+"\n"+
		"The command of smithers.worktree.setup runs there: echo ready >ready.txt\n"+
		"The agent is not started.", questions[1])
	assert.Contains(t, text, "cd "+made[0]+" && claude ")
	assert.FileExists(t, filepath.Join(made[0], "ready.txt"))
	data, err := os.ReadFile(filepath.Join(made[0], "a.txt"))
	require.NoError(t, err)
	assert.Equal(t, "one\n", string(data))
	assert.Equal(t, "broken\n", w.file())
}

// A prompt is a text: no part of it is left out of the question, and none of it is read as the name of a stream or a flag.
func TestThePersonSeesTheWholePromptOfACourse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn("write it", "a.txt", "one\n", "written")
	var questions []string
	c := w.connect(asks("accept", &questions))
	long := strings.Repeat("word ", 700) + "the end"
	for _, prompt := range []string{long, "-", "--json"} {
		text := c.call("what_if", "at", "claude-s1:2", "prompt", prompt)
		assert.Contains(t, questions[len(questions)-1], "The first prompt there: "+prompt+"\n")
		assert.Contains(t, text, prompt)
	}
	require.Len(t, w.courses(), 3)
	for _, prompt := range []string{strings.Repeat("x", 4001), strings.Repeat("\u202e", 700)} {
		assert.Contains(t, c.refused("what_if", "at", "claude-s1:2", "prompt", prompt), "limit_exceeded: the prompt is too long for a question")
	}
	assert.Len(t, questions, 3)
	require.Len(t, w.courses(), 3)
}

func TestAClientThatCannotAskIsRefusedUnlessTheServerMayDoWithout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn("write it", "a.txt", "one\n", "written")
	w.turn("break it", "a.txt", "broken\n", "done")
	mute := w.connect(nil)
	text := mute.refused("restore", "at", "claude-s1:1")
	assert.Contains(t, text, "because this agent cannot ask the person")
	assert.Contains(t, text, "modify  a.txt")
	assert.Contains(t, text, "start the server with --allow restore")
	assert.Contains(t, mute.refused("what_if", "at", "claude-s1:1"), "start the server with --allow what-if")
	for _, name := range []string{"allow", "yes", "confirm", "inputResponses", "requestState", "_meta"} {
		assert.Contains(t, mute.refused("restore", "at", "claude-s1:1", name, true), "unexpected additional properties", "no argument allows")
	}
	other := w.connect(nil, "what-if")
	assert.Contains(t, other.refused("restore", "at", "claude-s1:1"), "because this agent cannot ask the person")
	assert.Equal(t, "broken\n", w.file())
	w.connect(nil, "restore").call("restore", "at", "claude-s1:1")
	assert.Equal(t, "one\n", w.file())
}

// A client that takes the questions as they come can try to answer others than it was asked.
func TestAnAnswerIsToTheQuestionThatWasAskedAndCountsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn("write it", "a.txt", "one\n", "written")
	w.turn("break it", "a.txt", "broken\n", "done")
	var questions []string
	options := asks("accept", &questions)
	options.MultiRoundTrip = &sdk.MultiRoundTripOptions{Disabled: true}
	c, stranger := w.connect(options), w.connect(options)
	ask := func() string {
		res := c.result("restore", "at", "claude-s1:1")
		require.True(t, res.NeedsInput())
		return res.RequestState
	}
	answer := func(c *client, at, state string) *sdk.CallToolResult {
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{
			Name: "restore", Arguments: map[string]any{"at": at}, RequestState: state,
			InputResponses: sdk.InputResponseMap{"confirm": &sdk.ElicitResult{Action: "accept"}},
		})
		require.NoError(t, err)
		return res
	}
	wrong := func(res *sdk.CallToolResult) {
		t.Helper()
		assert.True(t, res.IsError)
		assert.Contains(t, said(res), "the answer is to no open question, or what would change is not what the person was shown")
		assert.NotEqual(t, "one\n", w.file())
	}
	wrong(answer(c, "claude-s1:1", "forged.0123456789abcdef"))
	wrong(answer(c, "claude-s1:1", "."+"x"))
	assert.True(t, answer(c, "claude-s1:1", "").NeedsInput(), "an answer without a question is a new question")
	wrong(answer(c, "claude-s1:0", ask()))        // of other arguments
	wrong(answer(stranger, "claude-s1:1", ask())) // of another process
	state := ask()
	w.Write("b.txt", "new\n")
	w.turn("one more", "c.txt", "c\n", "done")
	wrong(answer(c, "claude-s1:1", state)) // more files would change now
	state = ask()
	require.False(t, answer(c, "claude-s1:1", state).IsError)
	assert.Equal(t, "one\n", w.file())
	w.Write("a.txt", "broken\n")
	wrong(answer(c, "claude-s1:1", state)) // again
}
