package transport_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// world is a repository, its remote "origin", and a line of commits, oldest first, of
// which the remote has none.
type world struct {
	*repotest.Repo

	origin  *repotest.Repo
	commits []objstore.ID
}

func newWorld(t *testing.T, commits int) *world {
	t.Helper()
	w := &world{Repo: refstest.New(t, repotest.Commit), origin: refstest.New(t, repotest.Bare)}
	w.Git("remote", "add", "origin", w.origin.Dir)
	w.commits = w.commit(t, commits)
	return w
}

// commit makes a line of commits that no branch has.
func (w *world) commit(t testing.TB, n int) []objstore.ID {
	t.Helper()
	var input strings.Builder
	for i := range n {
		from := ""
		if i == 0 {
			from = "from refs/heads/main\n"
		}
		message := fmt.Sprintf("commit %d", i)
		fmt.Fprintf(&input, "commit refs/line\nmark :%d\ncommitter C <c@example.invalid> %d +0000\ndata %d\n%s\n%sM 644 inline file-%d\ndata %d\n%s\n\n",
			i+1, 1_700_000_000+i, len(message), message, from, i%10, len(message), message)
	}
	marks := filepath.Join(t.TempDir(), "marks")
	w.GitInput(input.String()+"done\n", "fast-import", "--quiet", "--done", "--force", "--export-marks="+marks)
	var ids []objstore.ID
	for line := range strings.Lines(w.Git("rev-list", "--reverse", "refs/line", "^main") + "\n") {
		ids = append(ids, refstest.ID(t, strings.TrimSpace(line)))
	}
	w.Git("update-ref", "-d", "refs/line")
	// What no ref holds, git gc would take.
	w.Git("update-ref", "refs/held/line", ids[n-1].String())
	require.Len(t, ids, n)
	return ids
}

// open is the transport of a repository.
func open(t testing.TB, repo *repotest.Repo, change func(*transport.Options)) *transport.Transport {
	t.Helper()
	found, err := gitexec.Discover(t.Context(), repo.Dir, repo.Env)
	require.NoError(t, err)
	opts := transport.Options{Repo: found, Env: repo.Env}
	if change != nil {
		change(&opts)
	}
	return transport.New(opts)
}

// frames are moves that create the frames of the run "run" at commits.
func frames(t testing.TB, commits []objstore.ID) []transport.Move {
	t.Helper()
	moves := make([]transport.Move, len(commits))
	for i, id := range commits {
		moves[i] = transport.Move{Name: refstest.Frame(t, "run", int64(i)), How: transport.Create, New: id}
	}
	return moves
}

// tip is a move that takes the tip of a run to a commit.
func tip(t testing.TB, run string, to objstore.ID) transport.Move {
	t.Helper()
	return transport.Move{Name: refstest.Tip(t, run), How: transport.FastForward, New: to}
}

// has is what the refs of a repository under refs/smithers are.
func has(t testing.TB, repo *repotest.Repo) map[refs.Name]objstore.ID {
	t.Helper()
	found := make(map[refs.Name]objstore.ID)
	for line := range strings.Lines(repo.Git("for-each-ref", "--format=%(objectname) %(refname)", "refs/smithers", "refs/smithers-remote")) {
		hex, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		found[refs.Name(name)] = refstest.ID(t, hex)
	}
	return found
}

// statuses are the statuses of outcomes, in their order.
func statuses(outcomes []transport.Outcome) []transport.Status {
	list := make([]transport.Status, len(outcomes))
	for i, outcome := range outcomes {
		list[i] = outcome.Status
	}
	return list
}
