package cache_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
)

// open opens the store of a repository.
func open(t *testing.T, repo *repotest.Repo) *timeline.Store {
	t.Helper()
	store, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
		Warn: func(err error) { assert.NoError(t, err, "a warning") },
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return store
}

// entry is the result of a task n of the workflow w.
func entry(n string) *cache.Entry {
	return &cache.Entry{
		Key: cache.Key{cache.PartWorkflow: "w", cache.PartNode: n}, Run: "run", Frame: 2, Attempt: 1, CreatedAtMs: 7, TookMs: 3,
		Output: json.RawMessage(`{"n": 1}`), Table: "t", SchemaSig: "s", Bytes: 8,
	}
}

func TestAnEntryIsFoundAsItWasPut(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := cache.Of(open(t, repo))
	none, err := c.Find(t.Context(), entry("a").Key.Sum())
	require.NoError(t, err)
	assert.Nil(t, none)
	e := entry("a")
	blob, err := objstore.ParseID(repo.GitInput("new", "hash-object", "-w", "--stdin"))
	require.NoError(t, err)
	e.Files = []jjbridge.FileEdit{
		{Path: "a/gone", Was: jjbridge.FileState{Mode: objstore.ModeFile, ID: blob}},
		{Path: "a/new", Now: jjbridge.FileState{Mode: objstore.ModeExecutable, ID: blob}},
		{Path: "b", Was: jjbridge.FileState{Mode: objstore.ModeFile, ID: blob}, Now: jjbridge.FileState{Mode: objstore.ModeSymlink, ID: blob}},
	}
	require.NoError(t, c.Put(t.Context(), e))
	found, err := c.Find(t.Context(), e.Sum)
	require.NoError(t, err)
	assert.Equal(t, e, found)
	assert.Equal(t, "new", repo.Git("show", "refs/smithers/_cache:"+e.Sum[:2]+"/"+e.Sum+"/files/1"), "plain git reads it")
	ref := repo.Git("rev-parse", "refs/smithers/_cache")
	require.NoError(t, c.Put(t.Context(), e))
	assert.Equal(t, ref, repo.Git("rev-parse", "refs/smithers/_cache"), "an equal entry moves nothing")
}

func TestEntriesOfTwoProcessesBothStay(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	stores := []*timeline.Store{open(t, repo), open(t, repo), open(t, repo)}
	var wait sync.WaitGroup
	const each = 8
	for i, store := range stores {
		wait.Go(func() {
			for k := range each {
				assert.NoError(t, cache.Of(store).Put(context.Background(), entry(fmt.Sprint(i, k))))
			}
		})
	}
	wait.Wait()
	count := 0
	for e, err := range cache.Of(open(t, repo)).All(t.Context()) {
		require.NoError(t, err)
		assert.Equal(t, "w", e.Workflow())
		count++
	}
	assert.Equal(t, each*len(stores), count)
}

func TestADamagedKeyIsReplaced(t *testing.T) {
	t.Parallel()
	store := open(t, repotest.New(t, repotest.Commit))
	c := cache.Of(store)
	require.NoError(t, c.Put(t.Context(), entry("a")))
	require.NoError(t, os.Truncate(filepath.Join(store.Private(), "clone.key"), 0)) // as a power cut may leave it
	sum := entry("a").Key.Sum()
	e, err := c.Find(t.Context(), sum)
	require.NoError(t, err)
	assert.False(t, e.Own, "nobody can say whose it is")
	require.NoError(t, c.Put(t.Context(), entry("a")))
	e, err = c.Find(t.Context(), sum)
	require.NoError(t, err)
	assert.True(t, e.Own)
}

func TestRemoveLeavesTheOthers(t *testing.T) {
	t.Parallel()
	c := cache.Of(open(t, repotest.New(t, repotest.Commit)))
	for _, n := range []string{"a", "b", "c"} {
		require.NoError(t, c.Put(t.Context(), entry(n)))
	}
	removed, err := c.Remove(t.Context(), func(e *cache.Entry) bool { return e.Node() != "b" })
	require.NoError(t, err)
	assert.Len(t, removed, 2)
	for e, err := range c.All(t.Context()) {
		require.NoError(t, err)
		assert.Equal(t, "b", e.Node())
	}
	removed, err = c.Remove(t.Context(), func(*cache.Entry) bool { return true })
	require.NoError(t, err)
	assert.Len(t, removed, 1)
}

// The sum of a key is part of the format.
func TestTheSumOfAKey(t *testing.T) {
	t.Parallel()
	// printf 'git-smithers cache key 1\n{"node":"a<b","workflow":"w"}' | sha256sum, with < as Go's JSON escapes it
	assert.Equal(t, cache.Digest([]byte("git-smithers cache key 1\n"+`{"node":"a\u003cb","workflow":"w"}`)),
		cache.Key{cache.PartWorkflow: "w", cache.PartNode: "a<b"}.Sum())
}

func TestKeysWithDifferentPartsHaveDifferentSums(t *testing.T) {
	t.Parallel()
	repotest.Check(t, func(t *rapid.T) {
		keys := rapid.MapOf(rapid.String(), rapid.String())
		a, b := cache.Key(keys.Draw(t, "a")), cache.Key(keys.Draw(t, "b"))
		if differ := len(a.Differing(b)) > 0; differ != (a.Sum() != b.Sum()) {
			t.Fatalf("%q and %q: differ %v, sums %s and %s", a, b, differ, a.Sum(), b.Sum())
		}
	})
}

func TestTheNearestEntryIsTheNewestOfTheMostSimilar(t *testing.T) {
	t.Parallel()
	of := func(at int64, parts ...string) *cache.Entry {
		e := &cache.Entry{Key: cache.Key{cache.PartWorkflow: "w", cache.PartNode: "n"}, CreatedAtMs: at}
		for _, part := range parts {
			e.Key[part] = "1"
		}
		return e
	}
	other := of(9, "x", "y")
	other.Key[cache.PartNode] = "m"
	want := of(4, "x")
	got := cache.Nearest([]*cache.Entry{of(5), of(3, "x"), want, other}, of(0, "x", "y").Key)
	assert.Same(t, want, got)
	assert.Nil(t, cache.Nearest(nil, want.Key))
}

// A stranger's tree never makes the cache fail or change files outside of the working copy: whatever is in an entry, it is refused or is
// an entry that encodes to the same bytes.
func TestEntriesOfStrangersAreRefused(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	c := cache.Of(open(t, repo))
	for name, change := range map[string]string{
		"a path of git":        `"files":[{"path":".git/hooks/pre-commit","was":"","now":"100755 BLOB"}]`,
		"a path outside":       `"files":[{"path":"../x","was":"","now":"100644 BLOB"}]`,
		"an absolute path":     `"files":[{"path":"/x","was":"","now":"100644 BLOB"}]`,
		"a folder of jj":       `"files":[{"path":"a/.JJ/x","was":"","now":"100644 BLOB"}]`,
		"a submodule":          `"files":[{"path":"a","was":"","now":"160000 BLOB"}]`,
		"another file":         `"files":[{"path":"a","was":"","now":"100644 0000000000000000000000000000000000000001"}]`,
		"a path twice":         `"files":[{"path":"a","was":"","now":"100644 BLOB"},{"path":"a","was":"","now":"100644 BLOB"}]`,
		"an unknown member":    `"what":1`,
		"an output of nothing": `"output":"aa"`,
	} {
		blob := repo.GitInput("new", "hash-object", "-w", "--stdin")
		key := cache.Key{cache.PartWorkflow: "w", cache.PartNode: name}
		text, err := json.Marshal(key)
		require.NoError(t, err)
		doc := `{"key":` + string(text) + `,"runId":"r","frame":1,"iteration":0,"attempt":1,"createdAtMs":1,"tookMs":1,"bytes":1,` + strings.ReplaceAll(change, "BLOB", blob) + `}`
		files := repo.GitInput("100755 blob "+blob+"\t0\n", "mktree")
		folder := repo.GitInput("100644 blob "+repo.GitInput(doc, "hash-object", "-w", "--stdin")+"\tentry.json\n040000 tree "+files+"\tfiles\n", "mktree")
		fan := repo.GitInput("040000 tree "+folder+"\t"+key.Sum()+"\n", "mktree")
		root := repo.GitInput("040000 tree "+fan+"\t"+key.Sum()[:2]+"\n", "mktree")
		repo.Git("update-ref", "refs/smithers/_cache", repo.Git("commit-tree", "-m", "strange", root))
		_, err = c.Find(t.Context(), key.Sum())
		require.ErrorIs(t, err, cache.ErrAltered, name)
	}
}

// BenchmarkFind measures the search for a result among 1,000.
func BenchmarkFind(b *testing.B) {
	repo := repotest.New(b, repotest.Commit)
	store, err := timeline.Open(b.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now, Warn: func(error) {}})
	require.NoError(b, err)
	defer store.Close() //nolint:errcheck // the benchmark is over
	c := cache.Of(store)
	for i := range 1000 {
		require.NoError(b, c.Put(b.Context(), entry(strconv.Itoa(i))))
	}
	sum := entry("7").Key.Sum()
	for b.Loop() {
		if _, err := c.Find(b.Context(), sum); err != nil {
			b.Fatal(err)
		}
	}
}
