package blame_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/blame"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// world is a history of one file in which the author of every line is known, because no two lines are equal. Commits, frames and forks are
// made as objects, so that a thousand edits take seconds.
type world struct {
	t     testing.TB
	repo  *repotest.Repo
	s     *timeline.Store
	rnd   *rand.Rand
	now   int64
	by    map[string]string // the author of each line: the address of a frame, or the id of a commit
	start map[string]bool   // lines that a run found when it began
	main  *version
	runs  []*course
}

// version is a commit of the repository and the lines of the file in it.
type version struct {
	commit string
	lines  []string
}

// course is a run.
type course struct {
	head   *timeline.Head
	first  []string           // the lines with which the run, or the one from which it was forked, began
	frames map[int64][]string // the lines of each frame
	bases  map[int64]*version // the commit that was checked out at each frame
	dirty  bool               // the run found lines that no commit had
}

const path = "src/file.txt"

func newWorld(t testing.TB, seed uint64) *world {
	t.Helper()
	repo := repotest.New(t)
	w := &world{
		t: t, repo: repo, rnd: rand.New(rand.NewPCG(seed, 1)), now: 1_700_000_000_000, by: make(map[string]string), start: make(map[string]bool),
	}
	var err error
	w.s, err = timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: func() time.Time { return time.UnixMilli(w.now) }})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.s.Close()) })
	w.main = &version{}
	w.commit("", w.lines(20))
	return w
}

// lines returns n new lines.
func (w *world) lines(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%016x %016x", w.rnd.Uint64(), w.rnd.Uint64())
	}
	return out
}

// sign makes author the author of the lines that nobody has written yet.
func (w *world) sign(author string, lines []string) {
	for _, line := range lines {
		if w.by[line] == "" {
			w.by[line] = author
		}
	}
}

// edit returns lines after some random edits: new lines, lines that are gone, and blocks that have moved.
func (w *world) edit(lines []string) []string {
	lines = slices.Clone(lines)
	for range 1 + w.rnd.IntN(4) {
		at := w.rnd.IntN(len(lines) + 1)
		end := min(len(lines), at+1+w.rnd.IntN(4))
		switch block := slices.Clone(lines[at:end]); w.rnd.IntN(4) {
		case 0, 1:
			lines = slices.Insert(lines, at, w.lines(1+w.rnd.IntN(4))...)
		case 2:
			if len(lines) > 15 {
				lines = slices.Delete(lines, at, end)
			}
		case 3:
			lines = slices.Delete(lines, at, end)
			lines = slices.Insert(lines, w.rnd.IntN(len(lines)+1), block...)
		}
	}
	return lines
}

// merged returns ours with what theirs has changed since base.
func merged(ours, theirs, base []string) []string {
	had, have := make(map[string]bool), make(map[string]bool)
	for _, line := range base {
		had[line] = true
	}
	for _, line := range theirs {
		have[line] = true
	}
	out := slices.DeleteFunc(slices.Clone(ours), func(line string) bool { return had[line] && !have[line] })
	after := ""
	for _, line := range theirs {
		if !had[line] && !slices.Contains(out, line) {
			out = slices.Insert(out, slices.Index(out, after)+1, line)
		}
		if slices.Contains(out, line) {
			after = line
		}
	}
	return out
}

// tree writes the tree with the file.
func (w *world) tree(batch objstore.Writer, lines []string) objstore.ID {
	file := batch.Add(objstore.Blob, []byte(strings.Join(lines, "\n")+"\n"))
	src := batch.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{{Name: "file.txt", Mode: objstore.ModeFile, ID: file}}))
	return batch.Add(objstore.Tree, objstore.EncodeTree([]objstore.TreeEntry{{Name: "src", Mode: objstore.ModeTree, ID: src}}))
}

// commitOn makes a commit of the repository.
func (w *world) commitOn(message string, lines []string, parents ...*version) *version {
	w.now += 1000
	batch := w.s.Objects().Begin()
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", w.tree(batch, lines))
	for _, parent := range parents {
		fmt.Fprintf(&b, "parent %s\n", parent.commit)
	}
	who := fmt.Sprintf("A <a@example.com> %d +0000", w.now/1000)
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\nchange\n\n%s\n", who, who, message)
	id := batch.Add(objstore.Commit, []byte(b.String()))
	require.NoError(w.t, batch.Commit(w.t.Context(), nil))
	w.sign(id.String(), lines)
	return &version{id.String(), lines}
}

// commit makes a commit on the main branch.
func (w *world) commit(message string, lines []string, others ...*version) {
	parents := others
	if w.main.commit != "" {
		parents = append([]*version{w.main}, others...)
	}
	w.main = w.commitOn(message, lines, parents...)
}

// draft is the draft of a frame with the lines.
func (w *world) draft(lines []string, base *version) snapshot.Draft {
	w.now += 1000
	batch := w.s.Objects().Begin()
	tree := w.tree(batch, lines)
	require.NoError(w.t, batch.Commit(w.t.Context(), nil))
	return snapshot.Draft{
		Frame: new(snapshot.FrameDraft), AtMs: w.now, Subject: "edited",
		VCS: &snapshot.VCS{Type: snapshot.VCSGit, CommitID: base.commit, Tree: tree, Scope: snapshot.ScopeAll},
	}
}

// begin begins a run on the main branch, perhaps with lines that are not committed.
func (w *world) begin() {
	lines, dirty := w.main.lines, w.rnd.IntN(3) == 0
	if dirty {
		lines = slices.Insert(slices.Clone(lines), w.rnd.IntN(len(lines)), w.lines(2)...)
	}
	id := fmt.Sprintf("run-%d", len(w.runs))
	head, err := w.s.Create(w.t.Context(), snapshot.Run{ID: id, Workflow: "flow", Status: snapshot.RunRunning}, w.draft(lines, w.main))
	require.NoError(w.t, err)
	for _, line := range lines {
		w.start[line] = w.start[line] || w.by[line] == ""
	}
	w.sign(id+":0", lines)
	w.runs = append(w.runs, &course{head, lines, map[int64][]string{0: lines}, map[int64]*version{0: w.main}, dirty})
}

// append appends a frame.
func (w *world) append(c *course, lines []string, base *version, based *int64) {
	draft := w.draft(lines, base)
	draft.Frame.Based = based
	require.NoError(w.t, c.head.Append(w.t.Context(), draft))
	row := c.head.Row()
	w.sign(timeline.Address{Run: row.ID, Frame: row.Frame}.String(), lines)
	c.frames[row.Frame], c.bases[row.Frame] = lines, base
}

// fork forks a run from one of its frames.
func (w *world) fork(c *course) {
	frame := slices.Sorted(maps.Keys(c.frames))[w.rnd.IntN(len(c.frames))]
	from := timeline.Address{Run: c.head.Row().ID, Frame: frame}
	head, err := w.s.Fork(w.t.Context(), timeline.ForkRequest{From: from.String(), RunID: fmt.Sprintf("run-%d", len(w.runs))})
	require.NoError(w.t, err)
	w.runs = append(w.runs, &course{head, c.first, map[int64][]string{0: c.frames[frame]}, map[int64]*version{0: c.bases[frame]}, c.dirty})
}

// landing returns the message of a commit that lands a frame, and the lines.
func (w *world) landing(c *course, ours []string) (string, []string) {
	frame := slices.Sorted(maps.Keys(c.frames))[w.rnd.IntN(len(c.frames))]
	run := c.head.Row().ID
	lines := merged(ours, c.frames[frame], c.first)
	if w.rnd.IntN(2) == 0 { // somebody resolves conflicts
		lines = slices.Insert(lines, w.rnd.IntN(len(lines)), w.lines(1)...)
		lines = slices.Insert(lines, w.rnd.IntN(len(lines)), w.lines(2)...)
	}
	return fmt.Sprintf("Smithers-Run: %s\nSmithers-Frame: %s:%d", run, run, frame), lines
}

// step changes the history at random.
func (w *world) step() {
	if len(w.runs) == 0 {
		w.begin()
	}
	c := w.runs[len(w.runs)-1-w.rnd.IntN(min(3, len(w.runs)))]
	newest := c.head.Row().Frame
	lines, base := c.frames[newest], c.bases[newest]
	switch n := w.rnd.IntN(20); {
	case n < 3:
		w.commit("by hand", w.edit(w.main.lines))
	case n < 4:
		w.begin()
	case n < 5:
		w.fork(c)
	case n < 8:
		w.commit(w.landing(c, w.main.lines))
	case n < 9: // a branch with a commit by hand, and perhaps a landing, is merged
		side := w.commitOn("side", w.edit(w.main.lines), w.main)
		from := w.main
		if w.rnd.IntN(2) == 0 {
			message, landed := w.landing(c, side.lines)
			side = w.commitOn(message, landed, side)
		}
		w.commit("main goes on", w.edit(w.main.lines))
		w.commit("merge", append(merged(w.main.lines, side.lines, from.lines), w.lines(1)...), side)
	case n < 10 && newest > 1: // travel
		based := 1 + w.rnd.Int64N(newest-1)
		if based < newest && c.frames[based] != nil {
			w.append(c, w.edit(c.frames[based]), c.bases[based], &based)
		}
	case n < 11 && base == w.main && !c.dirty: // the agent commits its work itself
		w.commit("by the agent", lines)
		if w.rnd.IntN(2) == 0 {
			lines = w.edit(lines)
		}
		w.append(c, lines, w.main, nil)
	case n < 12: // somebody pulls
		w.append(c, merged(w.main.lines, lines, base.lines), w.main, nil)
	default:
		w.append(c, w.edit(lines), base, nil)
	}
}

// check compares the writers of a revision's lines with their authors.
func (w *world) check(reader *blame.Reader, revision string, lines []string) {
	file, err := reader.File(w.t.Context(), blame.Query{Path: path, Revision: revision})
	require.NoError(w.t, err)
	number := 0
	for _, r := range file.Ranges {
		for _, text := range r.Text {
			require.Equal(w.t, lines[number], text)
			number++
			by := r.Writer.Commit
			if r.Writer.Kind != blame.Commit {
				by = r.Writer.Address().String()
			}
			assert.Equal(w.t, w.by[text], by, "line %d of %s: %s", number, revision, text)
			assert.Equal(w.t, w.start[text], r.Writer.Kind == blame.Start, "line %d of %s: %s", number, revision, text)
		}
	}
	require.Len(w.t, lines, number)
}

func TestEveryLineHasItsAuthor(t *testing.T) {
	t.Parallel()
	for seed := range uint64(repotest.Size(2, 6)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed)
			steps := repotest.Size(60, 1000)
			for i := range steps {
				w.step()
				if (i+1)%(steps/4) == 0 && !t.Failed() {
					w.check(blame.NewReader(w.s), w.main.commit, w.main.lines)
				}
			}
			reader := blame.NewReader(w.s)
			for _, c := range w.runs[max(0, len(w.runs)-5):] {
				row := c.head.Row()
				w.check(reader, timeline.Address{Run: row.ID, Frame: row.Frame}.String(), c.frames[row.Frame])
			}
		})
	}
}
