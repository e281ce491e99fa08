package timeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// spoiled is a repository whose files a test spoils, and git's word on what is where.
type spoiled struct {
	repo    *repotest.Repo
	frames  map[string]string          // commits by address
	objects map[string]map[string]bool // what each of these commits is made of
}

// entries of a pack, by git's account.
type packEntry struct {
	id       string
	from, to int64
}

// spoilable makes two runs, each frame in a pack of its own.
func spoilable(t *testing.T) *spoiled {
	t.Helper()
	repo := repotest.New(t, repotest.Bare)
	repo.Damaged()
	out := &spoiled{repo, make(map[string]string), make(map[string]map[string]bool)}
	s := openOn(t, repo.Dir, repo.Env, nil)
	note := func(h *timeline.Head) {
		out.frames[fmt.Sprintf("%s:%d", h.Row().ID, h.Row().Frame)] = h.Entry().ID.String()
	}
	frames(witness{t, s, note, nil}, "run", 5)
	frames(witness{t, s, note, nil}, "other", 2)
	require.NoError(t, s.Close())
	for _, commit := range out.frames {
		out.objects[commit] = make(map[string]bool)
		for line := range strings.Lines(repo.Git("rev-list", "--objects", "--no-walk", commit)) {
			out.objects[commit][strings.Fields(line)[0]] = true
		}
	}
	return out
}

// packs is the packs' paths without suffix.
func (s *spoiled) packs(t *testing.T) []string {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(s.repo.GitDir, "objects", "pack", "pack-*.pack"))
	require.NoError(t, err)
	for i, pack := range packs {
		packs[i] = strings.TrimSuffix(pack, ".pack")
	}
	return packs
}

// entries is what git says is in a pack.
func (s *spoiled) entries(t *testing.T, pack string) []packEntry {
	t.Helper()
	var entries []packEntry
	for line := range strings.Lines(s.repo.Git("verify-pack", "-v", pack+".idx")) {
		fields := strings.Fields(line)
		if len(fields) != 5 || len(fields[0]) < 40 {
			continue
		}
		size, err1 := strconv.ParseInt(fields[3], 10, 64)
		offset, err2 := strconv.ParseInt(fields[4], 10, 64)
		require.NoError(t, err1)
		require.NoError(t, err2)
		entries = append(entries, packEntry{fields[0], offset, offset + size})
	}
	require.NotEmpty(t, entries)
	return entries
}

// spoil changes a file for as long as look runs.
func (s *spoiled) spoil(t *testing.T, path string, change func([]byte) []byte, look func()) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	write := func(data []byte) {
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
	write(change(slices.Clone(data)))
	look()
	write(data)
}

// requireNamed requires that verify names what is wrong: name, in no frame but those
// that have one of the lost objects. All others are as they were.
func (s *spoiled) requireNamed(t *testing.T, name string, lost map[string]bool, what string) {
	t.Helper()
	history := openOn(t, s.repo.Dir, s.repo.Env, nil)
	defer func() { require.NoError(t, history.Close()) }()
	report, err := verify.Runs(t.Context(), history)
	require.NoError(t, err, what)
	hit := make(map[string]bool) // commits
	for address, commit := range s.frames {
		for id := range lost {
			hit[commit] = hit[commit] || s.objects[commit][id]
		}
		if hit[commit] {
			continue
		}
		loaded, err := history.Load(t.Context(), address)
		require.NoError(t, err, "%s, which has nothing to do with %s", address, what)
		requireReadable(t, loaded.Entry)
		_, err = history.Rendered(loaded.Entry)
		require.NoError(t, err)
	}
	require.NotEmpty(t, report.Problems, what)
	for _, p := range report.Problems {
		assert.Contains(t, p.What+p.File, name, what)
		assert.True(t, p.Commit == "" || hit[p.Commit], "%s: %+v", what, p)
	}
}

// requireReadable requires that all rows of an entry's state can be read, and are what
// the entry says.
func requireReadable(t *testing.T, entry *snapshot.Entry) {
	t.Helper()
	state, err := entry.State()
	require.NoError(t, err)
	require.Equal(t, entry.ContentHash, state.ContentHash())
	require.NoError(t, state.Verify(nil))
}

func TestAFlippedBitInAPackIsNamedAndHarmsOnlyTheFramesThatHaveTheObject(t *testing.T) {
	t.Parallel()
	s := spoilable(t)
	copies := make(map[string]int)
	for _, pack := range s.packs(t) {
		for _, entry := range s.entries(t, pack) {
			copies[entry.id]++
		}
	}
	for _, pack := range s.packs(t) {
		for _, entry := range s.entries(t, pack) {
			if copies[entry.id] > 1 {
				continue // the other copy is read
			}
			flip := func(data []byte) []byte {
				data[(entry.from+entry.to)/2] ^= 0x10
				return data
			}
			s.spoil(t, pack+".pack", flip, func() {
				lost := map[string]bool{entry.id: true}
				s.requireNamed(t, filepath.Base(pack), lost, "a flipped bit in "+entry.id)
			})
		}
	}
}

func TestATruncatedIndexIsNamedAndHarmsOnlyTheFramesThatHaveItsObjects(t *testing.T) {
	t.Parallel()
	s := spoilable(t)
	for _, pack := range s.packs(t) {
		lost := make(map[string]bool)
		for _, entry := range s.entries(t, pack) {
			lost[entry.id] = true
		}
		for _, size := range []int{0, 1, 1032, -1} {
			cut := func(data []byte) []byte { return data[:(len(data)+size)%len(data)] }
			s.spoil(t, pack+".idx", cut, func() {
				s.requireNamed(t, filepath.Base(pack), lost, fmt.Sprintf("an index cut at %d", size))
			})
		}
	}
}

func TestAnEmptiedTipIsNamedAndHarmsNoFrame(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	s := spoilable(t)
	tip := filepath.Join(s.repo.GitDir, "refs", "smithers", "_tip", "run")
	s.spoil(t, tip, func([]byte) []byte { return nil }, func() {
		history := openOn(t, s.repo.Dir, s.repo.Env, nil)
		defer func() { require.NoError(t, history.Close()) }()
		report, err := verify.Runs(t.Context(), history)
		require.NoError(t, err)
		require.Len(t, report.Problems, 1)
		assert.Contains(t, report.Problems[0].What, "refs/smithers/_tip/run")
		for address, commit := range s.frames {
			assert.Equal(t, commit, s.repo.Git("rev-parse", "refs/smithers/"+strings.Replace(address, ":", "/", 1)))
			if strings.HasPrefix(address, "other") {
				_, err := history.Load(t.Context(), address)
				assert.NoError(t, err)
			}
		}
	})
	requireHealthy(t, s.repo)
}

func TestAnEmptiedFrameRefIsNamedAndFoundThroughTheChain(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	s := spoilable(t)
	ref := filepath.Join(s.repo.GitDir, "refs", "smithers", "run", "2")
	s.spoil(t, ref, func([]byte) []byte { return nil }, func() {
		history := openOn(t, s.repo.Dir, s.repo.Env, nil)
		defer func() { require.NoError(t, history.Close()) }()
		report, err := verify.Runs(t.Context(), history)
		require.NoError(t, err)
		require.Len(t, report.Problems, 1)
		assert.Contains(t, report.Problems[0].What, "refs/smithers/run/2")
		for address, commit := range s.frames {
			loaded, err := history.Load(t.Context(), address)
			require.NoError(t, err)
			assert.Equal(t, commit, loaded.Entry.ID.String())
		}
		report, err = verify.Runs(t.Context(), history)
		require.NoError(t, err)
		assert.Empty(t, report.Problems, "reading it has made it again")
	})
}
