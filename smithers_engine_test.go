package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

// peer is a working copy in which the real Smithers runs testdata/smithers/workflow.tsx.
type peer struct {
	*world
	modules string
}

func newPeer(t *testing.T) *peer {
	t.Helper()
	modules := repotest.Smithers(t)
	p := peerOf(t, repotest.New(t, repotest.Commit), modules)
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "a workflow")
	return p
}

// peerOf puts the workflows, and what they import, into the working copy of a repository.
func peerOf(t *testing.T, repo *repotest.Repo, modules string) *peer {
	t.Helper()
	p := &peer{worldOf(t, repo), modules}
	for i, entry := range p.Env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			p.Env[i] = "PATH=" + path + string(filepath.ListSeparator) + filepath.Join(modules, ".bin")
		}
	}
	for _, name := range []string{"workflow.tsx", "loop.tsx", "tsconfig.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", "smithers", name))
		require.NoError(t, err)
		p.write(name, string(data))
	}
	p.write(".gitignore", "/node_modules\n/smithers.db*\n/.smithers/\n")
	require.NoError(t, os.Symlink(modules, filepath.Join(p.Dir, "node_modules")))
	return p
}

// in is the same in another folder.
func (p *peer) in(dir string) *peer {
	repo := *p.Repo
	repo.Dir, repo.GitDir = dir, filepath.Join(dir, ".git")
	return &peer{&world{&repo, p.t}, p.modules}
}

// smithers starts the real Smithers.
func (p *peer) smithers(args ...string) *job {
	p.t.Helper()
	return p.startCommand(process(p.Dir, p.Env, filepath.Join(p.modules, ".bin", "smithers"), args...))
}

// resume has Smithers go on with a run, and tells the exit status: 0 finished, 3 it waits.
func (p *peer) resume(run string) int {
	p.t.Helper()
	j := p.smithers("up", "workflow.tsx", "--run-id", run, "--resume", "true")
	status := j.exit()
	require.Contains(p.t, []int{0, 3}, status, "%s\n%s", j.out.String(), j.err.String())
	return status
}

// finish gives a run what it waits for, and has Smithers go on with it to its end.
func (p *peer) finish(run string) {
	p.t.Helper()
	p.smithers("approve", run).exits(0)
	p.smithers("signal", run, "sent", "--data", `{"from":"ann","readers":3}`).exits(0)
	for range 4 { // it takes a signal that was sent before it was waited for when it is resumed once more
		if p.resume(run) == 0 {
			return
		}
	}
	require.Fail(p.t, "the run does not end", run)
}

// line is one run of a timeline, as both tell it.
type line struct {
	RunID  string `json:"runId"`
	Frames []struct {
		FrameNo     int64 `json:"frameNo"`
		CreatedAtMs int64 `json:"createdAtMs"`
		Forks       []struct {
			RunID       string `json:"runId"`
			BranchLabel string `json:"branchLabel"`
		} `json:"forks"`
	} `json:"frames"`
	Children []line `json:"children"`
}

// timeline is that of a run and all its forks as lines of text. Frame 0 is left out: Smithers'
// runs begin at 1 and only its forks at 0, ours all at 0.
func (p *peer) timeline(out string) (lines []string) {
	p.t.Helper()
	var doc struct {
		Timeline line `json:"timeline"`
	}
	require.NoError(p.t, json.Unmarshal([]byte(out), &doc), out)
	var walk func(line)
	walk = func(l line) {
		for _, frame := range l.Frames {
			if frame.FrameNo > 0 {
				lines = append(lines, fmt.Sprintf("%s:%d at %d", l.RunID, frame.FrameNo, frame.CreatedAtMs))
			}
			for _, fork := range frame.Forks {
				lines = append(lines, fmt.Sprintf("%s:%d is where %s %q begins", l.RunID, frame.FrameNo, fork.RunID, fork.BranchLabel))
			}
		}
		for _, child := range l.Children {
			walk(child)
		}
	}
	walk(doc.Timeline)
	slices.Sort(lines) // forks of one frame stand in any order
	return lines
}

func (p *peer) theirs(run string) []string {
	p.t.Helper()
	j := p.smithers("timeline", run, "--tree", "--json")
	j.exits(0)
	return p.timeline(j.out.String())
}

func (p *peer) ours(run string) []string {
	p.t.Helper()
	return p.timeline(p.ok("timeline", run, "--tree", "--json"))
}

// ok is what git-smithers prints, which has to succeed.
func (p *peer) ok(args ...string) string {
	p.t.Helper()
	return p.exits(0, args...)
}

// exits is what git-smithers prints, which has to end with a status.
func (p *peer) exits(status int, args ...string) string {
	p.t.Helper()
	j := p.start(args...)
	j.exits(status)
	return j.out.String()
}

// nodes are the states of a frame's nodes, by their keys; nil without such a frame.
func (p *peer) nodes(address string) map[string]string {
	p.t.Helper()
	out, err := p.command("show", address, "--json").Output()
	if err != nil {
		return nil
	}
	var doc struct {
		State struct {
			Nodes []struct {
				NodeID    string `json:"nodeId"`
				Iteration int    `json:"iteration"`
				State     string `json:"state"`
			} `json:"nodes"`
		} `json:"state"`
	}
	require.NoError(p.t, json.Unmarshal(out, &doc))
	states := map[string]string{}
	for _, node := range doc.State.Nodes {
		states[fmt.Sprintf("%s::%d", node.NodeID, node.Iteration)] = node.State
	}
	return states
}

// frame is the first frame of the run news in which a node has a state.
func (p *peer) frame(node, state string) int64 {
	p.t.Helper()
	for frame := range int64(100) {
		if p.nodes(fmt.Sprintf("news:%d", frame))[node] == state {
			return frame
		}
	}
	require.Fail(p.t, "no such frame", "%s %s", node, state)
	return 0
}

// newest is the newest frame of a run.
func (p *peer) newest(run string) int64 {
	p.t.Helper()
	var doc struct {
		Frame int64 `json:"frame"`
	}
	out := p.ok("show", run, "--json")
	require.NoError(p.t, json.Unmarshal([]byte(out), &doc), out)
	return doc.Frame
}

// has reports whether a frame of the run news has a file of the working copy.
func (p *peer) has(frame int64, file string) bool {
	_, err := p.GitErr("cat-file", "-e", fmt.Sprintf("refs/smithers/news/%d:worktree/%s", frame, file))
	return err == nil
}

// until waits for a condition.
func (p *peer) until(what string, condition func() bool) {
	p.t.Helper()
	require.Eventually(p.t, condition, patience, 50*time.Millisecond, what)
}

// TestSmithersRunsComeInAndGoBack follows one run of the real Smithers: what it does is watched, and forks
// of it go back to it.
func TestSmithersRunsComeInAndGoBack(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	p.isWatched()
	p.isImportedOnce()
	p.goesOnAsAFork()
	p.isReplayedOnItsFiles()
	p.isReplayedWithAnEditedWorkflow()
	p.goesOnInAClone()
}

// isWatched has a run watched from before there is a database until it waits for a person.
func (p *peer) isWatched() {
	p.t.Helper()
	watch := p.start("watch", "smithers.db")
	engine := p.smithers("up", "workflow.tsx", "--run-id", "news", "--input", `{"topic":"tea"}`)
	p.until("the first task runs", func() bool {
		out, err := p.command("show", "news", "--attempts", "--json").Output()
		return err == nil && strings.Contains(string(out), `"state":"in-progress"`)
	})
	held := p.frame("outline::0", "pending")
	assert.True(p.t, p.has(held, "workflow.tsx"))
	p.write("go", "")
	engine.exits(3)
	theirs := p.theirs("news")
	p.until("all that happened is here", func() bool {
		out, err := p.command("timeline", "news", "--tree", "--json").Output()
		return err == nil && slices.Equal(theirs, p.timeline(string(out)))
	})
	p.until("and that it waits", func() bool {
		out, err := p.command("show", "news", "--json").Output()
		return err == nil && strings.Contains(string(out), `"status":"waiting-approval"`)
	})
	watch.signal(syscall.SIGINT)
	watch.exits(130)

	assert.False(p.t, p.has(held, "go"), "the files are those of the moment")
	last := p.newest("news")
	assert.Equal(p.t, "draft 1", p.Git("cat-file", "-p", fmt.Sprintf("refs/smithers/news/%d:worktree/draft.md", last)))
	_, _, attempts := p.attempts("news")
	assert.Contains(p.t, attempts, "fetch 1 failed")
	assert.Contains(p.t, attempts, "fetch 2 finished")
}

// isImportedOnce shows that what was watched is what there is to import.
func (p *peer) isImportedOnce() {
	p.t.Helper()
	before := p.Git("for-each-ref")
	p.ok("import", "smithers.db")
	assert.Equal(p.t, before, p.Git("for-each-ref"))
	assert.Equal(p.t, p.theirs("news"), p.ours("news"))
}

// goesOnAsAFork has a fork with another input go on in the database that it came from.
func (p *peer) goesOnAsAFork() {
	p.t.Helper()
	at := p.frame("right::0", "finished")
	p.ok("fork", fmt.Sprintf("news:%d", at), "--input", `{"drafts":3}`, "--run-id", "longer", "--label", "three drafts")
	p.ok("export", "longer", "--to", "smithers.db")
	p.exits(4, "export", "longer", "--to", "smithers.db")
	require.Equal(p.t, 3, p.resume("longer"))
	p.finish("longer")
	p.ok("import", "smithers.db")
	status, _, attempts := p.attempts("longer")
	assert.Equal(p.t, "finished", status)
	assert.Equal(p.t, 3, count(attempts, "write 1 finished"), "the new input counts")
	assert.Equal(p.t, "tea\n", p.read("outline.md"), "what was finished is not done again")
	assert.NoFileExists(p.t, filepath.Join(p.Dir, "fetched-longer"))
	assert.Equal(p.t, p.theirs("news"), p.ours("news"))
	assert.Contains(p.t, p.ok("show", "longer"), "archived: On tea")
}

// isReplayedOnItsFiles has replay start Smithers in a working copy with the frame's files.
func (p *peer) isReplayedOnItsFiles() {
	p.t.Helper()
	at := p.frame("write::0", "finished")
	there := filepath.Join(filepath.Dir(p.Dir), "there")
	p.write("draft.md", "of this working copy\n")
	out := p.exits(3, "replay", "--engine", "smithers", "workflow.tsx", "--run-id", "news", "--frame", strconv.FormatInt(at, 10),
		"--label", "again", "--restore-vcs", "--to", there, "--json")
	var doc struct {
		ForkedRunID string `json:"forkedRunId"`
		Status      string `json:"status"`
		VCSRestored bool   `json:"vcsRestored"`
	}
	require.NoError(p.t, json.Unmarshal([]byte(out), &doc), out)
	assert.Equal(p.t, "waiting-approval", doc.Status)
	assert.True(p.t, doc.VCSRestored)
	assert.Equal(p.t, "of this working copy\n", p.read("draft.md"))
	draft, err := os.ReadFile(filepath.Join(there, "draft.md"))
	require.NoError(p.t, err)
	assert.Equal(p.t, "draft 1\n", string(draft))
	assert.Equal(p.t, "draft 1", p.Git("show", "refs/smithers/_tip/"+doc.ForkedRunID+":worktree/draft.md"), "what it left is kept")
	assert.Equal(p.t, "finished", p.nodes(doc.ForkedRunID)["judge::1"])
}

// isReplayedWithAnEditedWorkflow has replay start Smithers with a workflow that has changed since.
func (p *peer) isReplayedWithAnEditedWorkflow() {
	p.t.Helper()
	original := p.read("workflow.tsx")
	p.write("workflow.tsx", strings.ReplaceAll(original, "archived: ", "put away: "))
	at := p.newest("news")
	out := p.exits(3, "replay", "--engine", "smithers", "workflow.tsx", "--run-id", "news", "--frame", strconv.FormatInt(at, 10))
	run := strings.TrimSpace(out)
	p.finish(run)
	p.ok("import", "smithers.db")
	assert.Contains(p.t, p.ok("show", run), "put away: On tea")
	p.write("workflow.tsx", original)
}

// goesOnInAClone has the run, and a fork, go on in another clone, which has another path.
func (p *peer) goesOnInAClone() {
	p.t.Helper()
	dir := filepath.Join(filepath.Dir(p.Dir), "clone")
	p.Git("clone", "--quiet", p.Dir, dir)
	clone := p.in(dir)
	require.NoError(p.t, os.Symlink(p.modules, filepath.Join(dir, "node_modules")))
	clone.ok("fetch")
	clone.ok("fork", "news", "--run-id", "elsewhere")
	clone.ok("export", "news", "elsewhere", "--to", "smithers.db", "--workflow", "workflow.tsx")
	require.Equal(p.t, 3, clone.resume("elsewhere"))
	clone.finish("elsewhere")
	clone.finish("news")
	clone.ok("import", "smithers.db")
	for _, run := range []string{"elsewhere", "news"} {
		status, _, _ := clone.attempts(run)
		assert.Equal(p.t, "finished", status, run)
	}
	assert.Equal(p.t, clone.theirs("elsewhere"), clone.ours("elsewhere"))
}

func TestSmithersRewindBecomesATravelFrame(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	p.smithers("up", "loop.tsx", "--run-id", "pages", "--input", `{"times":4}`).exits(0)
	p.ok("import", "smithers.db")
	before, newest := p.nodes("pages:smithers/6"), p.newest("pages")
	p.smithers("rewind", "pages", "5", "--yes", "--json").exits(0)
	p.ok("import", "smithers.db")
	assert.Equal(t, newest+1, p.newest("pages"))
	assert.Contains(t, p.ok("timeline", "pages"), "rewound to 5")

	p.smithers("up", "loop.tsx", "--run-id", "pages", "--resume", "true").exits(0)
	p.ok("import", "smithers.db")
	assert.Equal(t, before, p.nodes("pages:6"), "a number of ours means what it meant")
	var again struct {
		Frame int64 `json:"frame"`
	}
	require.NoError(t, json.Unmarshal([]byte(p.ok("show", "pages:smithers/6", "--json")), &again))
	assert.Equal(t, newest+2, again.Frame)
	refs := p.Git("for-each-ref")
	p.ok("export", "pages", "--to", "again.db")
	p.ok("import", "again.db")
	assert.Equal(t, refs, p.Git("for-each-ref"), "what goes back is what came")
}

// TestSmithersGoesOnInASubfolder has the workflow and the database in a folder of the working copy, where Smithers is
// started: a fork goes on there, and the run as it was imported could.
func TestSmithersGoesOnInASubfolder(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	pkg := p.in(filepath.Join(p.Dir, "pkg"))
	require.NoError(t, os.Mkdir(pkg.Dir, 0o777))
	for _, name := range []string{"workflow.tsx", "loop.tsx", "tsconfig.json", "node_modules"} {
		require.NoError(t, os.Rename(filepath.Join(p.Dir, name), filepath.Join(pkg.Dir, name)))
	}
	p.write(".gitignore", "node_modules\nsmithers.db*\n.smithers/\n")
	pkg.smithers("up", "loop.tsx", "--run-id", "pages", "--input", `{"times":4}`).exits(0)
	pkg.ok("import", "smithers.db")
	assert.Contains(t, pkg.ok("export", "pages", "--to", "again.db", "--json"), `"exact":true,"resumes":true`)

	pkg.ok("fork", "pages:3", "--run-id", "fewer", "--input", `{"times":3}`)
	assert.Contains(t, pkg.ok("export", "fewer", "--to", "smithers.db", "--json"), `"exact":false,"resumes":true`)
	pkg.smithers("up", "loop.tsx", "--run-id", "fewer", "--resume", "true").exits(0)
	pkg.ok("import", "smithers.db")
	status, _, _ := pkg.attempts("fewer")
	assert.Equal(t, "finished", status)
	assert.Equal(t, pkg.theirs("pages"), pkg.ours("pages"))
	assert.Contains(t, pkg.ok("export", "fewer", "--to", "fewer.db", "--json"), `"exact":true,"resumes":true`)
}

func TestSmithersAttemptsInJJHaveTheirFiles(t *testing.T) {
	t.Parallel()
	modules := repotest.Smithers(t)
	p := peerOf(t, repotest.NewKind(t, repotest.JJColocated), modules)
	p.write("go", "")
	p.JJ("commit", "--quiet", "--message", "a workflow")
	p.smithers("up", "workflow.tsx", "--run-id", "news", "--input", `{"topic":"tea"}`).exits(3)
	p.ok("import", "smithers.db")
	outlined := p.frame("outline::0", "finished")
	assert.True(t, p.has(outlined, "outline.md"))
	assert.False(t, p.has(outlined, "draft.md"))
	p.JJ("op", "abandon", "..@-")
	p.JJ("util", "gc", "--expire=now")
	p.ok("revert", "--run-id", "news", "--node-id", "write", "--iteration", "0")
	assert.Equal(t, "draft 0\n", p.read("draft.md"))
}

func TestSmithersLoopTakesAFewPercentOfItsDatabase(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	p.smithers("up", "loop.tsx", "--run-id", "pages", "--input", `{"times":150}`).exits(0)
	before := p.size(filepath.Join(p.GitDir, "objects"))
	p.ok("import", "smithers.db")
	assert.Equal(t, p.theirs("pages"), p.ours("pages"))
	assert.Equal(t, "finished", p.nodes("pages")["page::149"])

	p.ok("seal", "pages")
	grown := p.size(filepath.Join(p.GitDir, "objects")) - before
	whole := p.size(filepath.Join(p.Dir, "smithers.db"))
	t.Logf("%d bytes of objects for a database of %d: %.1f %%", grown, whole, 100*float64(grown)/float64(whole))
	assert.LessOrEqual(t, grown, whole/25)
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// size is how many bytes the files at and below path have.
func (p *peer) size(path string) (bytes int64) {
	p.t.Helper()
	require.NoError(p.t, filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		bytes += info.Size()
		return err
	}))
	return bytes
}
