//go:build unix

package desk_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

// A terminal is tmux, in which a shell runs.
type terminal struct {
	t      *testing.T
	socket string
	repo   *repotest.Repo
}

// newTerminal starts tmux with a shell in a repository, and git-smithers and git-smithers-desk on its PATH. Without tmux, the test is skipped.
func newTerminal(t *testing.T, width, height string) *terminal {
	t.Helper()
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "there is no tmux")
		t.Skip("there is no tmux")
	}
	bin := t.TempDir()
	for name, pkg := range map[string]string{"git-smithers": "../..", "git-smithers-desk": "../../cmd/git-smithers-desk"} {
		build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags", "urfave_cli_no_docs", "-o", filepath.Join(bin, name), pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	term := &terminal{t, filepath.Join(t.TempDir(), "tmux"), repotest.New(t, repotest.Commit)}
	cmd := exec.CommandContext(t.Context(), tmux, "-S", term.socket, "-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, "sh")
	cmd.Dir = term.repo.Dir
	cmd.Env = append(term.repo.Env, "PATH="+bin+":"+os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TERM=xterm-256color", "PS1=# ", "HISTFILE=/dev/null")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Cleanup(func() { _ = exec.Command(tmux, "-S", term.socket, "kill-server").Run() })
	return term
}

// keys types keys: their names as tmux has them.
func (term *terminal) keys(keys ...string) {
	term.t.Helper()
	out, err := exec.CommandContext(term.t.Context(), "tmux", append([]string{"-S", term.socket, "send-keys"}, keys...)...).CombinedOutput()
	require.NoError(term.t, err, string(out))
}

// screen returns what the terminal shows.
func (term *terminal) screen() string {
	term.t.Helper()
	out, err := exec.CommandContext(term.t.Context(), "tmux", "-S", term.socket, "capture-pane", "-p").Output()
	require.NoError(term.t, err)
	return string(out)
}

// is compares the screen with one of the screens in the testdata of package tui.
func (term *terminal) is(name string) {
	term.t.Helper()
	want, err := os.ReadFile(filepath.Join("tui", "testdata", name+".txt"))
	require.NoError(term.t, err)
	assert.Equal(term.t, string(want), term.screen())
}

// shows waits until the terminal shows a text.
func (term *terminal) shows(text string) string {
	term.t.Helper()
	for range 600 {
		if screen := term.screen(); strings.Contains(screen, text) {
			return screen
		}
		time.Sleep(50 * time.Millisecond)
	}
	require.Contains(term.t, term.screen(), text)
	return ""
}

// ends waits until the terminal shows a text at its end: then it takes keys again.
func (term *terminal) ends(text string) string {
	term.t.Helper()
	for range 600 {
		if screen := term.screen(); strings.HasSuffix(strings.TrimSpace(screen), text) {
			return screen
		}
		time.Sleep(50 * time.Millisecond)
	}
	require.Fail(term.t, "it does not end with "+text, term.screen())
	return ""
}

// back is what a command ends with that the view has run.
const back = "press Enter to go back to the view"

const flowYAML = `name: flow
tasks:
  - {id: build, run: "echo built >built; echo building"}
  - {id: ok, needs: [build], approval: Ship it?}
`

// The view in a real terminal: it opens, moves, runs a command, and leaves the terminal as it was, also when it is killed.
func TestTheViewInATerminal(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, "80", "24")
	term.keys("git smithers tui", "Enter")
	term.shows("No runs yet")
	term.is("empty")
	term.keys("?")
	term.shows("? or esc closes")
	term.is("help")
	term.keys("?", "q")
	term.ends("#")

	term.repo.Write("flow.yaml", flowYAML)
	term.keys("stty -g >before; git smithers run flow.yaml --run-id r1; git smithers tui", "Enter")
	term.shows("ok: Ship it?")
	term.keys("Enter")
	term.shows("Steps")
	term.keys("h", "1")
	term.shows("git smithers diff r1:")
	term.keys("?")
	term.shows("each shows its command first")
	term.keys("?") // Escape and a letter at once would be another key
	term.keys("T")
	term.shows("Forks of r1")
	term.keys("q", "q", "i")
	term.shows("Inbox")
	term.keys("q", "Enter")
	term.shows("Steps")

	term.keys("a")
	term.shows("$ git smithers approve r1 ok")
	term.keys("Enter")
	term.ends(back)
	term.keys("Enter")
	term.shows("Steps")
	term.keys(":")
	term.keys("resume r1", "Enter")
	assert.Contains(t, term.ends(back), "run r1 finished")
	term.keys("Enter")
	term.shows("Steps")

	term.keys(":")
	term.keys("fork r1:2 --label other", "Enter")
	term.ends(back)
	term.keys("Enter")
	term.shows("from  2  other")
	term.keys("c")
	term.shows("Compare")
	term.keys("q")
	term.shows("Steps")

	// Suspended and continued, it is drawn again.
	term.keys("C-z")
	term.shows("Stopped")
	term.keys("fg", "Enter")
	term.shows("Steps")
	term.keys("q")
	term.shows("Runs  2")
	term.keys("q")
	term.ends("#")

	// A session of a coding agent has its turns.
	term.repo.Write("prompt.json", `{"session_id":"s1","transcript_path":"none","hook_event_name":"UserPromptSubmit","prompt":"mend the tests"}`)
	term.keys("clear; git smithers session hook claude UserPromptSubmit <prompt.json; git smithers tui @", "Enter")
	term.shows("Turns")
	term.shows("mend the tests")
	term.keys("q", "q")
	term.ends("#")
	term.keys("stty -g >after; cmp before after && echo as-it-$((1))", "Enter")
	term.shows("as-it-1")

	// A signal ends it, also if its terminal goes, and leaves the terminal as it was.
	for signal, status := range map[string]string{"-TERM": "status-143", "-HUP": "status-143"} {
		term.keys("clear; git smithers tui; echo status-$?", "Enter")
		term.shows("Runs  3")
		require.NoError(t, exec.CommandContext(t.Context(), "pkill", signal, "-f", "git-smithers-desk tui --program "+filepath.Dir(filepath.Dir(term.socket))).Run())
		term.shows(status)
		term.keys("stty -g >after; cmp before after && echo as-before-$((1)); rm after", "Enter")
		screen := term.shows("as-before-1")
		assert.NotContains(t, screen, "Runs  3", "the screen before the view is back")
	}
	term.repo.Git("fsck", "--strict")
}
