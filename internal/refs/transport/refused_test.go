package transport_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
)

// hook gives the remote a hook, a script that finds the refs that are pushed in $refs, a
// line each, and notes their number in the file that it returns.
func (w *world) hook(t *testing.T, name, script string) (noted string) {
	t.Helper()
	noted = filepath.Join(t.TempDir(), "noted")
	dir := filepath.Join(w.origin.GitDir, "hooks")
	require.NoError(t, os.MkdirAll(dir, 0o777))
	read := "refs=$(cut -d' ' -f3)\n"
	if name == "update" {
		read = "refs=$1\n"
	}
	count := "n=$(echo \"$refs\" | wc -l)\necho $n >>" + noted + "\n"
	repotest.WriteProgram(t, filepath.Join(dir, name), "#!/bin/sh\n"+read+count+script+"\n")
	return noted
}

// numbers are those in a file that a hook made.
func numbers(t *testing.T, path string) []int {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var list []int
	for field := range strings.FieldsSeq(string(content)) {
		n, err := strconv.Atoi(field)
		require.NoError(t, err)
		list = append(list, n)
	}
	return list
}

// count is how many outcomes have a status.
func count(outcomes []transport.Outcome, status transport.Status) int {
	return len(slices.DeleteFunc(statuses(outcomes), func(s transport.Status) bool { return s != status }))
}

func TestAServerThatTakesTwentyRefsAtOnceGetsThemAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 250)
	pushes := w.hook(t, "pre-receive", `[ $n -le 20 ] || { echo "at most 20 refs, please" >&2; exit 1; }`)
	moves := frames(t, w.commits)

	outcomes, err := open(t, w.Repo, nil).Push(t.Context(), "origin", moves)

	require.NoError(t, err)
	require.Len(t, outcomes, 250)
	for i, outcome := range outcomes {
		assert.Equal(t, moves[i], outcome.Move)
		assert.Equal(t, transport.Moved, outcome.Status)
	}
	assert.Len(t, has(t, w.origin), 250)
	sizes := numbers(t, pushes)
	assert.Equal(t, []int{200, 100, 50, 25, 12}, sizes[:5])
	assert.LessOrEqual(t, slices.Max(sizes[5:]), 12, "it is not asked again for more than it took")
}

func TestAServerThatRefusesTheNamespaceIsAskedAFewTimes(t *testing.T) {
	t.Parallel()
	for _, hook := range []string{"pre-receive", "update"} {
		t.Run(hook, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 100)
			pushes := w.hook(t, hook, `case "$refs" in *refs/smithers/*) echo "no refs/smithers here" >&2; exit 1;; esac`)

			outcomes, err := open(t, w.Repo, nil).Push(t.Context(), "origin", frames(t, w.commits))

			require.NoError(t, err)
			assert.Equal(t, 100, count(outcomes, transport.Refused))
			assert.Contains(t, outcomes[99].Reason, "no refs/smithers here")
			assert.Empty(t, has(t, w.origin))
			assert.LessOrEqual(t, len(numbers(t, pushes)), 10)
		})
	}
}

func TestARefThatIsRefusedHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	for _, hook := range []string{"pre-receive", "update"} {
		t.Run(hook, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 60)
			pushes := w.hook(t, hook, `case "$refs" in */run/13*) echo "a secret" >&2; exit 1;; esac`)

			outcomes, err := open(t, w.Repo, func(o *transport.Options) { o.Chunk = 40 }).
				Push(t.Context(), "origin", frames(t, w.commits))

			require.NoError(t, err)
			require.Len(t, outcomes, 60)
			assert.Equal(t, 59, count(outcomes, transport.Moved))
			assert.Equal(t, transport.Refused, outcomes[13].Status)
			assert.Contains(t, outcomes[13].Reason, "a secret")
			assert.Len(t, has(t, w.origin), 59)
			if sizes := numbers(t, pushes); hook == "pre-receive" {
				assert.Equal(t, 20, sizes[len(sizes)-1], "it was not the number")
			}
		})
	}
}

func TestAServerThatAbortsATransactionOfRefsRefusesThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	w.hook(t, "reference-transaction", `case "$1:$refs" in prepared:*/run/2*) exit 1;; esac`)

	outcomes, err := open(t, w.Repo, nil).Push(t.Context(), "origin", frames(t, w.commits))
	if err != nil { // the receive-pack of git 2.55 dies over the hook, and moves nothing
		require.ErrorContains(t, err, "update aborted by the reference-transaction hook")
		assert.Empty(t, has(t, w.origin))
		return
	}
	moved := transport.Moved
	assert.Equal(t, []transport.Status{moved, moved, transport.Refused, moved}, statuses(outcomes))
}

func TestHiddenRefsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.origin.Git("config", "transfer.hideRefs", "refs/smithers")

	outcomes, err := open(t, w.Repo, nil).Push(t.Context(), "origin", frames(t, w.commits))

	require.NoError(t, err)
	assert.Equal(t, 2, count(outcomes, transport.Refused))
	assert.Contains(t, outcomes[0].Reason, "hidden ref")
	assert.Empty(t, has(t, w.origin))
}

func TestAServerWithoutAtomicPushesGetsEveryRefThatItTakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 30)
	w.origin.Git("config", "receive.advertiseAtomic", "false")
	w.hook(t, "update", `case "$refs" in */run/7) exit 1;; esac`)

	outcomes, err := open(t, w.Repo, func(o *transport.Options) { o.Chunk = 20 }).
		Push(t.Context(), "origin", frames(t, w.commits))

	require.NoError(t, err)
	assert.Equal(t, 29, count(outcomes, transport.Moved))
	assert.Equal(t, transport.Refused, outcomes[7].Status)
	assert.Len(t, has(t, w.origin), 29)
}

func TestAServerThatChecksObjectsRefusesOnlyTheBadOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.Damaged()
	w.origin.Git("config", "transfer.fsckObjects", "true")
	moves := frames(t, w.commits)
	moves[1].New = refstest.ID(t, w.badCommit(t))

	outcomes, err := open(t, w.Repo, nil).Push(t.Context(), "origin", moves)

	require.NoError(t, err)
	assert.Equal(t, []transport.Status{transport.Moved, transport.Refused, transport.Moved}, statuses(outcomes))
	assert.Contains(t, outcomes[1].Reason, "hasDotgit")
}

// badCommit is a commit that git fsck finds fault with.
func (w *world) badCommit(t *testing.T) string {
	t.Helper()
	blob := w.GitInput("x\n", "hash-object", "-w", "--stdin")
	raw, err := hex.DecodeString(blob)
	require.NoError(t, err)
	tree := w.GitInput("100644 .git\x00"+string(raw), "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
	return w.Git("commit-tree", "-m", "bad", tree)
}

func TestARefThatSomebodyElseCreatesMeanwhileIsStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	// While the server looks at the first push, another one is faster.
	w.origin.Git("fetch", "--quiet", w.Dir, "refs/held/line:refs/other")
	once := filepath.Join(t.TempDir(), "once")
	w.hook(t, "pre-receive", `[ -e `+once+` ] || { touch `+once+`; unset GIT_QUARANTINE_PATH; git update-ref refs/smithers/run/0 refs/other; }`)

	outcomes, err := open(t, w.Repo, nil).Push(t.Context(), "origin", frames(t, w.commits))

	require.NoError(t, err)
	assert.Equal(t, []transport.Status{transport.Stale, transport.Moved, transport.Moved}, statuses(outcomes))
	assert.Equal(t, w.commits[2], has(t, w.origin)[refstest.Frame(t, "run", 0)])
}

func TestALockThatStaysOnTheServerRefusesItsRefAlone(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	w := newWorld(t, 3)
	lock := refstest.RefPath(w.origin, refstest.Frame(t, "run", 1)+".lock")
	require.NoError(t, os.MkdirAll(filepath.Dir(lock), 0o777))
	require.NoError(t, os.WriteFile(lock, nil, 0o666))

	outcomes, err := open(t, w.Repo, nil).Push(t.Context(), "origin", frames(t, w.commits))

	require.NoError(t, err)
	assert.Equal(t, []transport.Status{transport.Moved, transport.Refused, transport.Moved}, statuses(outcomes))
	assert.Contains(t, outcomes[1].Reason, "cannot lock ref")
	require.NoError(t, os.Remove(lock))
}

func TestAnObjectThatIsMissingHereIsNoRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	missing := tip(t, "run", refstest.ID(t, strings.Repeat("1", 2*w.commits[0].Algorithm().Size())))

	outcomes, err := open(t, w.Repo, nil).Push(t.Context(), "origin", []transport.Move{missing})

	require.NoError(t, err)
	assert.Equal(t, []transport.Status{transport.Unreadable}, statuses(outcomes))
	assert.Contains(t, outcomes[0].Reason, "bad object")
}

func TestWhatCannotBeReadHereHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	var moves []transport.Move
	for i, commit := range w.commits {
		moves = append(moves, tip(t, "healthy-"+strconv.Itoa(i), commit))
		moves = append(moves, tip(t, "damaged-"+strconv.Itoa(i), w.withoutTree(t, i)))
	}
	w.Damaged()

	outcomes, err := open(t, w.Repo, nil).Push(t.Context(), "origin", moves)

	require.NoError(t, err)
	for i := range w.commits {
		healthy, damaged := outcomes[2*i], outcomes[2*i+1]
		assert.Equal(t, transport.Moved, healthy.Status, healthy.Reason)
		assert.Equal(t, transport.Unreadable, damaged.Status)
		assert.Contains(t, damaged.Reason, "bad tree object")
	}
	assert.Len(t, has(t, w.origin), 4)
}

// withoutTree makes a commit whose tree has a folder that is missing.
func (w *world) withoutTree(t *testing.T, n int) objstore.ID {
	t.Helper()
	blob := w.GitInput("lost "+strconv.Itoa(n)+"\n", "hash-object", "-w", "--stdin")
	folder := w.GitInput("100644 blob "+blob+"\tfile\n", "mktree")
	tree := w.GitInput("040000 tree "+folder+"\tstate\n", "mktree")
	commit := w.Git("commit-tree", "-m", "lost", tree)
	require.NoError(t, os.Remove(filepath.Join(w.GitDir, "objects", folder[:2], folder[2:])))
	return refstest.ID(t, commit)
}
