package timeline_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// loosened is a repository with the run one of frames 0 to 4, whose objects are loose, so
// that single ones can be taken away.
func loosened(t *testing.T) *repotest.Repo {
	t.Helper()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	triage(t, s, "one")
	require.NoError(t, s.Close())
	loosen(t, repo)
	return repo
}

// loosen makes the objects of a repository loose.
func loosen(t *testing.T, repo *repotest.Repo) {
	t.Helper()
	repo.Git("repack", "-adq")
	packs, err := filepath.Glob(filepath.Join(repo.GitDir, "objects/pack/*.pack"))
	require.NoError(t, err)
	require.Len(t, packs, 1)
	data, err := os.ReadFile(packs[0])
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Dir(packs[0])))
	repo.GitInput(string(data), "unpack-objects", "-q")
}

func removeObject(t *testing.T, repo *repotest.Repo, name string) {
	t.Helper()
	id := repo.Git("rev-parse", "--verify", name)
	require.NoError(t, os.Remove(filepath.Join(repo.GitDir, "objects", id[:2], id[2:])))
}

// named is the frames that a report names, each once, "-" for a problem of none.
func named(report *verify.Report) []string {
	var out []string
	seen := make(map[string]bool)
	for _, p := range report.Problems {
		at := "-"
		if p.Frame != nil {
			at = strconv.FormatInt(*p.Frame, 10)
		}
		if !seen[at] {
			out = append(out, at)
		}
		seen[at] = true
	}
	return out
}

func TestVerifyNamesEachFrameThatIsHitAndNoOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		object string
		frames []string
		intact int // frames that were read
	}{
		{"a commit", "refs/smithers/one/2", []string{"2"}, 4},
		{"the tip", "refs/smithers/_tip/one", []string{"4"}, 4},
		{"the first commit", "refs/smithers/one/0", []string{"0"}, 4},
		{"what one frame has", "refs/smithers/one/2:nodes", []string{"2"}, 5},
		{"what all frames have", "refs/smithers/one/0:input", []string{"4", "3", "2", "1", "0"}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := loosened(t)
			repo.Damaged()
			removeObject(t, repo, c.object)
			s := openAgain(t, repo)
			report, err := verify.Runs(t.Context(), s)
			require.NoError(t, err)
			assert.Equal(t, c.frames, named(report), "%+v", report.Problems)
			assert.Equal(t, c.intact, report.Frames)
			for _, p := range report.Problems {
				assert.Equal(t, fault.MissingObject, p.Code)
				assert.Equal(t, "one", p.Run)
			}
		})
	}
}

func TestVerifyChecksTheFramesOfARunWhoseTipIsNoRef(t *testing.T) {
	t.Parallel()
	repo := loosened(t)
	repo.Damaged()
	repo.WriteRef("refs/smithers/_tip/one", "")
	removeObject(t, repo, "refs/smithers/one/3:nodes")
	s := openAgain(t, repo)
	report, err := verify.Runs(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, []string{"-", "3"}, named(report), "%+v", report.Problems)
	assert.Equal(t, 5, report.Frames)
}

func TestVerifyDeepFindsWhatAGoodCopyHides(t *testing.T) {
	t.Parallel()
	repo := loosened(t)
	repo.Damaged()
	repo.Git("repack", "-aq") // and the loose ones stay
	packs, err := filepath.Glob(filepath.Join(repo.GitDir, "objects/pack/*.pack"))
	require.NoError(t, err)
	require.Len(t, packs, 1)
	data, err := os.ReadFile(packs[0])
	require.NoError(t, err)
	data[len(data)/2] ^= 1
	require.NoError(t, os.Chmod(packs[0], 0o644))
	require.NoError(t, os.WriteFile(packs[0], data, 0o644))

	s := openAgain(t, repo)
	report, err := verify.Runs(t.Context(), s)
	require.NoError(t, err)
	assert.Empty(t, report.Problems)
	report, err = verify.Deep(t.Context(), s, nil, "one")
	require.NoError(t, err)
	require.Len(t, report.Problems, 1, "%+v", report.Problems)
	assert.Equal(t, "objects/pack/"+filepath.Base(packs[0]), report.Problems[0].File)
	assert.Equal(t, fault.CorruptObject, report.Problems[0].Code)
}

func TestVerifyDeepOfARunWithABrokenTipLeavesOutTheIndexOfOtherRuns(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Damaged()
	s := open(t, repo)
	triage(t, s, "one")
	triage(t, s, "two")
	_, err := s.Index(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, os.WriteFile(filepath.Join(repo.GitDir, "smithers", "index.db"), []byte("no database"), 0o600))
	repo.WriteRef("refs/smithers/_tip/one", "")
	s = openAgain(t, repo)
	flaws := func(runs ...string) (count int) {
		report, err := verify.Deep(t.Context(), s, nil, runs...)
		require.NoError(t, err)
		for _, p := range report.Problems {
			if p.File == "smithers/index.db" {
				count++
			}
		}
		return count
	}

	assert.NotZero(t, flaws())
	assert.Zero(t, flaws("one"))
}

func TestVerifyDeepChecksTombstonesAndWhatPrunedRunsHold(t *testing.T) {
	t.Parallel()
	repo := loosened(t)
	repo.Damaged()
	blob := repo.GitInput("no commit", "hash-object", "-w", "--stdin")
	repo.Git("update-ref", "refs/smithers/_gone/two", blob)
	require.NoError(t, os.MkdirAll(filepath.Join(repo.GitDir, "refs/smithers/_held"), 0o777))
	repo.WriteRef("refs/smithers/_held/three", "garbage\n")
	report, err := verify.Deep(t.Context(), openAgain(t, repo), nil)
	require.NoError(t, err)
	codes := make(map[string]fault.Code)
	for _, p := range report.Problems {
		codes[p.Run] = p.Code
	}
	assert.Equal(t, map[string]fault.Code{"two": fault.CorruptObject, "three": fault.BrokenRef}, codes)
}

// openAgain opens a repository that may be damaged.
func openAgain(t *testing.T, repo *repotest.Repo) *timeline.Store {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: clock()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}
