package tui

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/desk/browse"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

var update = flag.Bool("update", false, "rewrite the screens in testdata")

// A viewer is a view of a repository without a terminal: keys go in, and screens come out. Its clock stands still.
type viewer struct {
	t    *testing.T
	repo *repotest.Repo
	now  time.Time
	env  []string
	m    *model

	around int64 // of the reader
}

// newViewer makes a repository with workflow files, by their names. In the end the repository must verify.
func newViewer(t *testing.T, workflows map[string]string) *viewer {
	t.Helper()
	v := &viewer{t: t, repo: repotest.New(t, repotest.Commit), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	v.env = append(v.repo.Env, "GIT_SMITHERS_FSYNC=0", "LC_ALL=C.UTF-8", "TERM=xterm")
	v.repo.OnCleanup(func(testing.TB) { v.do(fault.ExitOK, "verify") })
	for name, text := range workflows {
		v.repo.Write(name, text)
	}
	return v
}

// do runs a command of git smithers, which must end with a status.
func (v *viewer) do(exit int, args ...string) string {
	v.t.Helper()
	var out, talk strings.Builder
	got := cli.Main(context.Background(), cli.Streams{
		In: strings.NewReader(""), Out: &out, Err: &talk, Dir: v.repo.Dir, Now: func() time.Time { return v.now }, Env: v.env,
	}, args)
	require.Equal(v.t, exit, got, "%v: %s", args, talk.String())
	return out.String()
}

// open opens the view at an address, with a size.
func (v *viewer) open(at string, width, height int) {
	v.t.Helper()
	now := func() time.Time { return v.now }
	store, err := timeline.Open(v.t.Context(), timeline.Options{Dir: v.repo.Dir, Env: v.env, Now: now, Warn: func(err error) { v.t.Log(err) }})
	require.NoError(v.t, err)
	v.t.Cleanup(func() { assert.NoError(v.t, store.Close()) })
	terminal := term.New(v.t.Context(), term.Streams{In: strings.NewReader(""), Out: new(strings.Builder), Err: new(strings.Builder), Env: v.env, Dir: v.repo.Dir, Now: now}, false)
	v.m, err = newModel(v.t.Context(), Options{Terminal: terminal, At: at, Program: "git-smithers", Poll: time.Millisecond}, &browse.Reader{Store: store, Now: now, CountFor: time.Minute, Around: v.around})
	require.NoError(v.t, err)
	v.send(tea.WindowSizeMsg{Width: width, Height: height})
	v.carryOut(v.m.top().load(v.m))
}

// send gives the view a message, and what comes of it.
func (v *viewer) send(msg tea.Msg) {
	_, cmd := v.m.Update(msg)
	v.carryOut(cmd)
}

// carryOut runs commands until nothing comes of them any more. A tick is not waited for.
func (v *viewer) carryOut(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil, tea.QuitMsg, tick:
	case tea.BatchMsg:
		for _, c := range msg {
			v.carryOut(c)
		}
	default:
		if name := ansi.Strip(strings.ToLower(typeName(msg))); !strings.Contains(name, "blink") && !strings.Contains(name, "exec") {
			v.send(msg)
		}
	}
}

// press presses keys, one after the other.
func (v *viewer) press(keys ...string) {
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "left": tea.KeyLeft, "right": tea.KeyRight, "up": tea.KeyUp, "down": tea.KeyDown, "space": tea.KeySpace}
	for _, key := range keys {
		msg := tea.KeyPressMsg{Text: key, Code: []rune(key)[0]}
		if code, ok := special[key]; ok {
			msg = tea.KeyPressMsg{Code: code}
		}
		v.send(msg)
	}
}

// screen returns what the view shows, without colours. Each line must have exactly the width of the terminal.
func (v *viewer) screen() string {
	v.t.Helper()
	lines := strings.Split(v.m.View().Content, "\n")
	assert.Len(v.t, lines, v.m.height)
	for i, l := range lines {
		assert.Equal(v.t, v.m.width, ansi.StringWidth(l), "line %d: %q", i, ansi.Strip(l))
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// golden compares the screen with the file of a name in testdata.
func (v *viewer) golden(name string) {
	v.t.Helper()
	path := filepath.Join("testdata", name+".txt")
	got := v.screen()
	if *update {
		require.NoError(v.t, os.MkdirAll("testdata", 0o755))
		require.NoError(v.t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(v.t, err)
	assert.Equal(v.t, string(want), got)
}

const fixYAML = `name: fix-issue
outputs:
  repro: {type: object}
  patch: {type: object}
tasks:
  - id: reproduce
    run: "echo '{\"cases\":3}'"
    output: repro
  - loop: work
    max: 2
    until: "false"
    tasks:
      - id: patch
        needs: [reproduce]
        run: "echo $ITERATION >>fixed.txt; echo '{\"summary\":\"trim separators at both ends; never return an empty slug\",\"files\":2}'"
        output: patch
      - id: unit
        needs: [patch]
        retries: 1
        run: "echo 'not ok 4 - trim'; echo 'Error: 2 of 6 failed'; test -n \"$(tail -1 fixed.txt)\" && exit 1"
  - id: ship
    needs: [work]
    approval: {title: Ship it}
`

const askYAML = `name: release
tasks:
  - id: where
    human:
      prompt: Where does 1.4.1 go?
      form: {type: object, required: [target], properties: {target: {enum: [npm, github]}, count: {type: integer, description: how many}, note: {type: string}}}
`

func TestTheListOfRunsShowsWhatNeedsSomebodyFirst(t *testing.T) {
	t.Parallel()
	v := newViewer(t, map[string]string{"fix.yaml": fixYAML, "ask.yaml": askYAML})
	v.open("", 80, 24)
	v.golden("empty")
	v.do(1, "run", "fix.yaml", "--run-id", "fix-212")
	v.do(fault.ExitOK, "fork", "fix-212:3", "--label", "relaxed", "--run-id", "relaxed-1")
	v.do(3, "run", "ask.yaml", "--run-id", "release-1")
	v.send(tick{})
	v.golden("runs")
	v.press("j")
	v.golden("runs-failed")
	v.press("/", "r", "e", "l", "enter")
	assert.Contains(t, v.screen(), "2 of 3")
	v.press("esc", "/", "status:failed -rel", "enter")
	assert.Contains(t, v.screen(), "1 of 3")
	v.press("esc", "?")
	v.golden("help")
}

func TestARunFollowsOneCursor(t *testing.T) {
	t.Parallel()
	v := newViewer(t, map[string]string{"fix.yaml": fixYAML})
	v.do(1, "run", "fix.yaml", "--run-id", "fix-212")
	v.open("fix-212", 80, 24)
	v.golden("run")
	v.press("[", "1")
	v.golden("run-state")
	v.press("2")
	v.golden("run-code")
	v.press("4")
	v.golden("run-tries")
	v.press("5")
	assert.Contains(t, v.screen(), "RunStarted")
	v.open("fix-212:2", 120, 40)
	v.golden("run-wide")
	v.open("fix-212", 50, 20)
	v.golden("run-narrow")
	v.press("tab")
	v.golden("run-narrow-text")
}

func TestAPlainTerminalGetsASCIIAlone(t *testing.T) {
	t.Parallel()
	v := newViewer(t, map[string]string{"fix.yaml": fixYAML})
	v.env = append(v.env, "GIT_SMITHERS_ASCII=1")
	v.do(1, "run", "fix.yaml", "--run-id", "fix-212")
	v.open("fix-212", 80, 24)
	v.golden("run-ascii")
	for _, keys := range [][]string{{"1"}, {"2"}, {"4"}, {"5"}, {"[", "b"}, {"esc"}, {"?"}, {"esc"}, {"f"}, {"esc"}, {"T"}, {"q"}, {"q"}, {"i"}} {
		v.press(keys...)
		assert.Equal(t, -1, strings.IndexFunc(v.screen(), func(r rune) bool { return r > 126 }), "%v:\n%s", keys, v.screen())
	}
}

func TestAnActionShowsItsCommandFirst(t *testing.T) {
	t.Parallel()
	v := newViewer(t, map[string]string{"fix.yaml": fixYAML})
	v.do(1, "run", "fix.yaml", "--run-id", "fix-212")
	v.open("fix-212", 80, 24)
	for key, want := range map[string]string{
		"f": "$ git smithers fork fix-212:", "r": "$ git smithers replay fix-212:", "t": "$ git smithers travel fix-212:", "z": "$ git smithers undo fix-212",
		"u": "$ git smithers resume fix-212", "x": "$ git smithers cancel fix-212", "L": "$ git smithers land fix-212:",
	} {
		v.press(key)
		assert.Contains(t, v.screen(), want)
		v.press("esc")
		assert.Nil(t, v.m.over)
	}
	v.press("f")
	v.golden("action")
	assert.Empty(t, v.do(fault.ExitOK, "branches", "fix-212"), "nothing was forked")
}

func TestAQuestionIsAnsweredInAForm(t *testing.T) {
	t.Parallel()
	v := newViewer(t, map[string]string{"ask.yaml": askYAML})
	v.do(3, "run", "ask.yaml", "--run-id", "release-1")
	v.open("", 80, 24)
	v.press("i")
	v.golden("inbox")
	v.press("enter", "enter")
	assert.Contains(t, v.screen(), "target is missing")
	v.press("right", "tab", "4", "tab", "x")
	v.golden("form")
	v.press("enter")
	assert.Contains(t, v.screen(), `'{"target":"npm","count":4,"note":"x"}'`)
}

func TestANameOfAStrangerIsNoFlag(t *testing.T) {
	t.Parallel()
	v := newViewer(t, map[string]string{"wait.yaml": "name: wait\ntasks:\n  - {id: built, wait_for: {signal: build, correlation: c-1}}\n"})
	v.do(3, "run", "wait.yaml", "--run-id", "w1")
	v.open("w1", 80, 24)
	v.press("a")
	assert.Contains(t, v.screen(), "$ git smithers signal w1 build --correlation=c-1")
	v.press("esc")
	v.m.settle("w1", &summary.Ask{Waiting: mailbox.Waiting{NodeID: "a", For: "signal", What: "--batch"}}, "answer")
	assert.Nil(t, v.m.over)
	assert.Contains(t, v.m.note, "begins with a dash")
}

func TestForksAreATreeAndAreCompared(t *testing.T) {
	t.Parallel()
	v := newViewer(t, map[string]string{"fix.yaml": fixYAML})
	v.do(1, "run", "fix.yaml", "--run-id", "fix-212")
	v.do(fault.ExitOK, "fork", "fix-212:3", "--label", "relaxed", "--run-id", "relaxed-1")
	v.open("fix-212", 80, 24)
	v.press("T")
	v.golden("tree")
	v.press("q", "q", "c")
	v.golden("compare")
}

func TestARunOfThousandsOfFramesIsReadAroundTheCursor(t *testing.T) {
	t.Parallel()
	v := newViewer(t, nil)
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: v.repo.Dir, Env: v.env, Now: time.Now})
	require.NoError(t, err)
	head, err := store.Create(t.Context(), snapshot.Run{ID: "long", Status: snapshot.RunRunning}, snapshot.Draft{Subject: "started"})
	require.NoError(t, err)
	const last = int64(1200)
	for no := int64(1); no <= last; no++ {
		draft := snapshot.Draft{Frame: new(snapshot.FrameDraft), Subject: fmt.Sprint("step ", no)}
		if no == 30 || no == 1000 { // an attempt failed
			node := snapshot.EncodeNode(snapshot.Node{NodeID: "a", State: snapshot.NodeFailed, LastAttempt: new(int(no))})
			tried := snapshot.EncodeAttempt(snapshot.Attempt{NodeID: "a", Attempt: int(no), StartedAtMs: v.now.UnixMilli(), State: snapshot.AttemptFailed, FinishedAtMs: new(v.now.UnixMilli()), Frame: new(no)})
			draft.Frame.State = []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: node.Key, Value: node.Value}}
			draft.Journal = []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: tried.Key, Value: tried.Value}}
		}
		require.NoError(t, head.Append(t.Context(), draft))
	}
	require.NoError(t, store.Close())
	v.around = 100
	v.open("long", 80, 24)
	at := func(number int64) {
		t.Helper()
		assert.Contains(t, v.screen(), plain.Number(number)+" of "+plain.Number(last))
		shown, ok := v.m.top().(*runScreen)
		require.True(t, ok)
		assert.Less(t, len(shown.run.Shown), 210)
	}
	at(1200)
	for range 150 {
		v.press("left")
	}
	at(1050)
	v.press("N")
	at(1000)
	v.press("N")
	at(30)
	v.press("n", "right")
	at(1001)
	v.press("g")
	at(0)
	for range 120 {
		v.press("right")
	}
	at(120)
	v.press("G")
	at(1200)
	v.open("long:500", 80, 24)
	at(500)
	v.carryOut(v.m.open(newRunScreen("long", 30))) // a second screen of the run has a cursor of its own
	at(30)
	v.press("esc")
	at(500)
	v.press("[")
	assert.Contains(t, v.screen(), "the key again looks further")
	for strings.Contains(v.screen(), "the key again looks further") {
		v.press("[")
	}
	assert.Contains(t, v.screen(), nothingThere)
}

// typeName returns the name of the type of a message.
func typeName(msg tea.Msg) string { return fmt.Sprintf("%T", msg) }

// hostile is text of a stranger: it would set a title, fill the clipboard, move the cursor, and turn the direction of writing.
const hostile = "a\x1b]0;title\x07b\x1b]52;c;eA==\x07c\x1b[2Jd\u202ee\u009b31mf\rg"

func TestNothingThatIsStoredControlsTheTerminal(t *testing.T) {
	t.Parallel()
	v := newViewer(t, map[string]string{"fix.yaml": strings.ReplaceAll(fixYAML, "not ok 4 - trim", `\x1b]0;title\x07 \x1b[2J \x1b[31mred\x1b[0m`)})
	v.do(1, "run", "fix.yaml", "--run-id", "fix-212")
	v.do(fault.ExitOK, "fork", "fix-212:3", "--label", hostile, "--description", hostile, "--run-id", "relaxed-1", "--input", `{"x":"`+`\u001b]0;t\u0007\u202e`+`"}`)
	for _, size := range [][2]int{{80, 24}, {120, 40}, {50, 12}} {
		v.open("", size[0], size[1])
		for key := range strings.SplitSeq("j j enter 1 2 b G y enter esc Y q 3 4 5 left left left 1 2 3 m right 1 2 T j j enter q q c v q q i ? esc f esc R esc", " ") {
			v.press(key)
			for _, sequence := range regexp.MustCompile("\x1b[^m]{0,20}m?").FindAllString(v.m.View().Content, -1) {
				assert.Regexp(t, "^\x1b\\[[0-9;]*m$", sequence, "after %s", key)
			}
			assert.NotContains(t, v.m.View().Content, "\u202e")
			assert.NotContains(t, v.m.View().Content, "\r")
			assert.NotContains(t, v.m.View().Content, "\u009b")
			v.screen()
		}
	}
}

func TestARunThatIsGoneIsSaidAndNoEnd(t *testing.T) {
	t.Parallel()
	v := newViewer(t, map[string]string{"fix.yaml": fixYAML})
	v.do(1, "run", "fix.yaml", "--run-id", "fix-212")
	v.open("fix-212", 80, 24)
	v.do(fault.ExitOK, "prune", "fix-212")
	v.send(tick{})
	assert.Contains(t, v.screen(), "fix-212")
	assert.Contains(t, v.m.note, "pruned")
	v.press("j", "1", "q")
	assert.Contains(t, v.screen(), "Runs")
}

func TestALineIsSplitIntoWordsAndNoShellReadsIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil, "runs": {"runs"}, "  show   r:1 ": {"show", "r:1"}, `fork r --label 'a b' --input "{\"x\": 1}"`: {"fork", "r", "--label", "a b", "--input", `{"x": 1}`},
		`a '' b`: {"a", "", "b"}, `$(reboot) ; a|b >c`: {"$(reboot)", ";", "a|b", ">c"}, `a\ b`: {"a b"},
	} {
		got, err := splitWords(text)
		require.NoError(t, err)
		assert.Equal(t, want, got, text)
	}
	_, err := splitWords("a 'b")
	assert.Error(t, err)
}

func TestWhatRunsMeanwhileMovesAlongAndNothingThatIsReadMoves(t *testing.T) {
	t.Parallel()
	v := newViewer(t, map[string]string{"ask.yaml": askYAML})
	v.do(3, "run", "ask.yaml", "--run-id", "release-1")
	v.open("release-1:0", 80, 24)
	v.press("1")
	before := v.screen()
	v.do(fault.ExitOK, "answer", "release-1", "where", "--value", `{"target":"npm"}`)
	v.do(fault.ExitOK, "resume", "release-1")
	v.send(tick{})
	after := v.screen()
	assert.Contains(t, after, "finished")
	run, ok := v.m.top().(*runScreen)
	require.True(t, ok)
	assert.Equal(t, 0, run.frame, "the cursor stays at its frame")
	assert.Contains(t, before, "0, the first")
	assert.Contains(t, after, "0, the first")
	v.press("G")
	v.do(fault.ExitOK, "travel", "release-1:0")
	v.send(tick{})
	assert.Equal(t, len(run.run.Shown)-1, run.frame, "at the newest frame, the cursor follows")
}
