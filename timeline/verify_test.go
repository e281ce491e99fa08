package timeline_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestVerifyCountsWhatItRead(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	triage(t, s, "one")
	triage(t, s, "two")
	report, err := verify.Runs(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, 2, report.Runs)
	assert.Equal(t, 10, report.Frames)
	assert.Empty(t, report.Problems)
	report, err = verify.Runs(t.Context(), s, "one")
	require.NoError(t, err)
	assert.Equal(t, 1, report.Runs)
}

func TestVerifyNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, repo *repotest.Repo)
		code   fault.Code
		what   string
	}{
		{
			"a frame ref that is not part of the chain",
			func(t *testing.T, repo *repotest.Repo) {
				t.Helper()
				repo.Git("update-ref", "refs/smithers/one/2", "refs/smithers/one/3")
			},
			fault.BrokenRef, "the ref of frame 2 points to an entry that is not this frame in the run's chain",
		},
		{
			"a tip that belongs to another run",
			func(t *testing.T, repo *repotest.Repo) {
				t.Helper()
				repo.Git("update-ref", "refs/smithers/_tip/else", "refs/smithers/_tip/one")
			},
			fault.BrokenRef, `the entry belongs to run "one"`,
		},
		{
			"a content hash that is not the state's",
			func(t *testing.T, repo *repotest.Repo) {
				t.Helper()
				commit := repo.Git("cat-file", "commit", "refs/smithers/_tip/one")
				at := strings.Index(commit, "Smithers-Content-Hash: ") + len("Smithers-Content-Hash: ")
				forged := commit[:at] + strings.Repeat("0", 64) + commit[at+64:] + "\n"
				require.NoError(t, os.WriteFile(filepath.Join(repo.Home, "forged"), []byte(forged), 0o600))
				id := repo.Git("hash-object", "-t", "commit", "-w", filepath.Join(repo.Home, "forged"))
				repo.Git("update-ref", "refs/smithers/_tip/one", id)
				repo.Git("update-ref", "refs/smithers/one/4", id)
			},
			fault.CorruptObject, "content hash is",
		},
		{
			"a tip that is no entry",
			func(t *testing.T, repo *repotest.Repo) {
				t.Helper()
				repo.Git("update-ref", "refs/smithers/_tip/one", "HEAD")
			},
			fault.CorruptObject, "tip",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			s := open(t, repo)
			triage(t, s, "one")
			c.damage(t, repo)
			repo.Damaged()
			report, err := verify.Runs(t.Context(), s)
			require.NoError(t, err)
			require.NotEmpty(t, report.Problems)
			assert.Equal(t, c.code, report.Problems[0].Code, "%+v", report.Problems)
			assert.Contains(t, report.Problems[0].What, c.what)
		})
	}
}

func TestABrokenTipIsReportedBesideWhatElseIsThere(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	triage(t, s, "one")
	triage(t, s, "two")
	triage(t, s, "three")
	repo.WriteRef("refs/smithers/_tip/one", "")
	repo.WriteRef("refs/smithers/_tip/two", "")
	repo.Damaged()

	report, err := verify.Runs(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, 3, report.Runs)
	assert.Equal(t, 15, report.Frames, "frame refs lead to those of the others")
	runs := make(map[string]fault.Code)
	for _, p := range report.Problems {
		runs[p.Run] = p.Code
	}
	assert.Equal(t, map[string]fault.Code{"one": fault.BrokenRef, "two": fault.BrokenRef}, runs)

	report, err = verify.Runs(t.Context(), s, "one")
	require.NoError(t, err)
	require.Len(t, report.Problems, 1)
	assert.Equal(t, "one", report.Problems[0].Run)
}

func TestAFrameRefThatIsBrokenIsRepairedWhenTheFrameIsRead(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	triage(t, s, "one")
	want := repo.Git("rev-parse", "refs/smithers/one/2")
	repo.WriteRef("refs/smithers/one/2", "")
	loaded, err := s.Load(t.Context(), "one:2")
	require.NoError(t, err)
	assert.Equal(t, want, loaded.Entry.ID.String())
	assert.Equal(t, want, repo.Git("rev-parse", "refs/smithers/one/2"))
}

func TestTheNewestFrameRefIsRepairedOnTheNextRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(repo *repotest.Repo, ref string)
	}{
		{"missing", func(repo *repotest.Repo, ref string) { repo.Git("update-ref", "-d", ref) }},
		{"empty", func(repo *repotest.Repo, ref string) { repo.WriteRef(ref, "") }},
		{"garbage", func(repo *repotest.Repo, ref string) { repo.WriteRef(ref, "garbage") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			s := open(t, repo)
			tip := triage(t, s, "one").Entry().ID.String()
			c.spoil(repo, "refs/smithers/one/4")
			loaded, err := s.Load(t.Context(), "one")
			require.NoError(t, err)
			assert.Equal(t, tip, loaded.Entry.ID.String())
			assert.Equal(t, tip, repo.Git("rev-parse", "refs/smithers/one/4"))
		})
	}
}

func TestAFrameWithoutARefIsFoundThroughTheChain(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	triage(t, s, "one")
	want := repo.Git("rev-parse", "refs/smithers/one/2")
	repo.Git("update-ref", "-d", "refs/smithers/one/2")
	loaded, err := s.Load(t.Context(), "one:2")
	require.NoError(t, err)
	assert.Equal(t, want, loaded.Entry.ID.String())
}

func TestAStrayFrameRefIsReportedAndReplaced(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := triage(t, s, "one")
	repo.Git("update-ref", "refs/smithers/one/5", "HEAD")
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
	assert.Equal(t, head.Entry().ID.String(), repo.Git("rev-parse", "refs/smithers/one/5"))
}

func TestADamagedObjectIsNamedAndOtherRunsStayReadable(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	triage(t, s, "one")
	triage(t, s, "two")
	newest := repo.Git("rev-parse", "refs/smithers/one/4")
	packs, err := filepath.Glob(filepath.Join(repo.GitDir, "objects/pack/*.pack"))
	require.NoError(t, err)
	repo.Damaged()
	for _, pack := range packs {
		if strings.Contains(repo.Git("verify-pack", "-v", pack), newest) {
			info, err := os.Stat(pack)
			require.NoError(t, err)
			require.NoError(t, os.Chmod(pack, 0o600))
			require.NoError(t, os.Truncate(pack, info.Size()/3))
		}
	}
	fresh := open(t, repo)
	_, err = fresh.Load(t.Context(), "one")
	assert.Equal(t, 12, exit(t, err))
	report, err := verify.Runs(t.Context(), fresh)
	require.NoError(t, err)
	require.NotEmpty(t, report.Problems)
	for _, p := range report.Problems {
		assert.Equal(t, "one", p.Run)
	}
	_, err = fresh.Load(t.Context(), "two")
	assert.NoError(t, err)
}

func exit(t *testing.T, err error) int {
	t.Helper()
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	return f.Exit()
}

// growing is a context that calls grow whenever it is asked whether it has ended: between any two entries that verify checks.
type growing struct {
	context.Context
	grow func()
}

func (g growing) Err() error {
	g.grow()
	return g.Context.Err()
}

func TestARunThatGrowsWhileItIsCheckedIsSound(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	head := triage(t, s, "one")
	left := 5
	report, err := verify.Runs(growing{t.Context(), func() {
		if left--; left >= 0 {
			require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
		}
	}}, s)
	require.NoError(t, err)
	assert.Negative(t, left)
	assert.Empty(t, report.Problems)
}
