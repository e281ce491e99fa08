package objstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
)

// userRepo is a repository with history by plain git: 60 commits of a file that grows.
func userRepo(t *testing.T) *repo {
	t.Helper()
	r := newRepo(t)
	var script strings.Builder
	text := ""
	for i := range 60 {
		text += fmt.Sprintf("line %d of a file that grows, and has some text in every line\n", i)
		fmt.Fprintf(&script, "commit refs/heads/master\ncommitter A <a@localhost.invalid> %d +0000\ndata 1\nx\nM 644 inline dir/file\ndata %d\n%s\n", 1700000000+i, len(text), text)
	}
	script.WriteString("tag v1\nfrom refs/heads/master\ntagger A <a@localhost.invalid> 1700000000 +0000\ndata 1\nx\n")
	out, err := r.run(script.String(), "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet")
	require.NoError(t, err, out)
	return r
}

// requireAllOfGit requires that every object git has reads as git reads it.
func requireAllOfGit(t *testing.T, r *repo, s objstore.Reader) {
	t.Helper()
	ids := r.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
	count := 0
	for line := range strings.Lines(ids) {
		hex, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		if hex == "error:" { // what git says of an alternate that is gone
			continue
		}
		id, err := objstore.ParseID(hex)
		require.NoError(t, err)
		gotKind, data, err := s.Get(id)
		require.NoError(t, err)
		assert.Equal(t, kind, gotKind.String())
		assert.Equal(t, id, testHash().ID(gotKind, data))
		count++
	}
	require.Greater(t, count, 200)
}

func TestObjectsAreReadHoweverGitStoresThem(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		git  [][]string
	}{
		{"as fast-import left them", nil},
		{"deltas of git gc --aggressive", [][]string{{"gc", "-q", "--aggressive", "--prune=now"}}},
		{"deltas named by id", [][]string{{"-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq", "--depth=200", "--window=50"}}},
		{"a chain of the greatest depth", [][]string{{"repack", "-adfq", "--depth=4095", "--window=250"}}},
		{"a multi-pack-index", [][]string{{"repack", "-adq"}, {"multi-pack-index", "write"}}},
		{"a multi-pack-index with a bitmap", [][]string{{"repack", "-adbq"}, {"multi-pack-index", "write", "--bitmap"}}},
		{"stored without compression", [][]string{{"-c", "pack.compression=0", "repack", "-adFq"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := userRepo(t)
			for _, args := range test.git {
				r.git(args...)
			}
			requireAllOfGit(t, r, r.open())
			requireAllOfGit(t, r, r.open(func(o *objstore.Options) { o.CacheBytes = 1 }))
		})
	}
}

// unpack makes loose objects of all packs.
func unpack(t *testing.T, r *repo) {
	t.Helper()
	for _, name := range r.packs(".pack") {
		moved := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.Rename(r.packPath(name), moved))
		require.NoError(t, os.Remove(r.packPath(strings.TrimSuffix(name, ".pack")+".idx")))
		data, err := os.ReadFile(moved)
		require.NoError(t, err)
		out, err := r.run(string(data), "unpack-objects", "-q")
		require.NoError(t, err, out)
	}
}

func TestLooseObjectsAreRead(t *testing.T) {
	t.Parallel()
	r := userRepo(t)
	s := r.open()
	head, err := objstore.ParseID(r.git("rev-parse", "master"))
	require.NoError(t, err)
	unpack(t, r)
	_, _, err = s.Get(head)
	require.NoError(t, err)
	requireAllOfGit(t, r, s)
	requireAllOfGit(t, r, r.open())
}

func TestBorrowedObjectsAreRead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, line string }{
		{"by an absolute path", "%[1]s\n"},
		{"by a relative path", "../../../%[2]s/repo.git/objects\n"},
		{"by a quoted path, after a comment and a directory that is gone", "# here\n/nowhere/objects\n\"%[1]s\"\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			lender := userRepo(t)
			unpacked := test.name == "by a relative path"
			if unpacked {
				unpack(t, lender)
			}
			middle, r := newRepo(t), newRepo(t)
			for borrower, from := range map[*repo]*repo{r: middle, middle: lender} {
				rel := filepath.Base(filepath.Dir(from.dir))
				text := fmt.Sprintf(test.line, filepath.Join(from.dir, "objects"), rel)
				text = strings.TrimSuffix(text, "%!(EXTRA string="+rel+")")
				require.NoError(t, os.WriteFile(filepath.Join(borrower.dir, "objects", "info", "alternates"), []byte(text), 0o666))
			}
			requireAllOfGit(t, r, r.open())
		})
	}
}

func TestABorrowedObjectIsNotHeld(t *testing.T) {
	t.Parallel()
	lender, r := newRepo(t), newRepo(t)
	for i, owner := range []*repo{lender, r} {
		_, err := owner.run(strconv.Itoa(i), "hash-object", "-w", "--stdin")
		require.NoError(t, err)
	}
	borrowed := filepath.Join(lender.dir, "objects") + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "objects", "info", "alternates"), []byte(borrowed), 0o666))
	s := r.open()
	for i, want := range []bool{false, true} {
		id := testHash().ID(objstore.Blob, []byte(strconv.Itoa(i)))
		_, _, err := s.Get(id)
		require.NoError(t, err)
		held, err := s.Holds(id)
		require.NoError(t, err)
		assert.Equal(t, want, held)
	}
}

func TestWhatGitHasPrunedIsNotOnDisk(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := r.open()
	cached := s.Begin()
	lost := cached.Add(objstore.Blob, []byte("pruned\n"))
	require.NoError(t, cached.Commit(t.Context(), nil))
	before, err := s.OnDisk()
	require.NoError(t, err)
	_, _, err = before.Get(lost)
	require.NoError(t, err)
	kept := r.git("hash-object", "-w", "--stdin")
	r.git("update-ref", "refs/tags/kept", kept)
	r.git("gc", "--quiet", "--prune=now")
	_, _, err = s.Get(lost)
	require.NoError(t, err)

	now, err := s.OnDisk()
	require.NoError(t, err)
	_, _, err = now.Get(lost)
	require.ErrorIs(t, err, objstore.ErrNotFound)
	id, err := objstore.ParseID(kept)
	require.NoError(t, err)
	_, _, err = now.Get(id)
	require.NoError(t, err)
	_, _, err = objstore.GetAtMost(now, id, -1)
	require.ErrorIs(t, err, objstore.ErrCorrupt)

	require.NoError(t, s.Close())
	_, err = s.OnDisk()
	require.ErrorIs(t, err, objstore.ErrClosed)
}

func TestAlternatesMayFormACircle(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	objects := r.options().ObjectsDir
	require.NoError(t, os.WriteFile(filepath.Join(objects, "info", "alternates"), []byte(objects+"\n"), 0o666))
	_, _, err := r.open().Get(testHash().ID(objstore.Blob, []byte("absent")))
	assert.ErrorIs(t, err, objstore.ErrNotFound)
}

func TestPacksThatAppearLaterAreFound(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	reader, writer := r.open(), r.open()
	c := newChain(3)
	for range 3 {
		c.capture(r, writer)
		c.requireAll(t, reader)
	}
}

func TestPacksThatVanishAreFoundAgain(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := r.open(func(o *objstore.Options) { o.CacheBytes = 1 })
	c := newChain(3)
	for range 3 {
		c.capture(r, s)
		c.requireAll(t, s)
		r.git("repack", "-adfq")
		c.requireAll(t, s)
		r.git("gc", "-q", "--prune=now")
		c.requireAll(t, s)
	}
}

func TestReadsGoOnWhileGitRepacks(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := r.open(func(o *objstore.Options) { o.CacheBytes = 1 })
	c := newChain(10)
	for range 10 {
		c.capture(r, s)
	}
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		defer close(done)
		for i := range 12 {
			// The window makes every pack different from the one before.
			out, err := r.run("", "repack", "-adfq", "--window="+strconv.Itoa(i+1))
			assert.NoError(t, err, out)
		}
	})
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		c.requireAll(t, s)
	}
	wait.Wait()
}

func TestAnObjectLargerThanTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	for _, loose := range []bool{false, true} {
		t.Run(fmt.Sprintf("loose %v", loose), func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			b := r.open().Begin()
			big := b.Add(objstore.Blob, make([]byte, 1001))
			fits := b.Add(objstore.Blob, make([]byte, 1000))
			require.NoError(t, b.Commit(t.Context(), nil))
			if loose {
				unpack(t, r)
			}
			s := r.open(func(o *objstore.Options) { o.MaxObject = 1000 })
			_, _, err := s.Get(fits)
			require.NoError(t, err)
			_, _, err = s.Get(big)
			require.ErrorIs(t, err, objstore.ErrCorrupt)
		})
	}
}

// damaged opens a store on a copy of one file changed in place.
func damage(t *testing.T, r *repo, name string, change func([]byte) []byte) {
	t.Helper()
	path := r.packPath(name)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, change(data), 0o666))
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
}

func TestAFlippedBitNeverGivesOtherBytes(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{".pack", ".idx"} {
		t.Run(suffix, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			c := newChain(3)
			for range 3 {
				c.capture(r, r.open())
			}
			r.git("repack", "-adfq") // so that there are deltas
			name := r.packs(suffix)[0]
			data, err := os.ReadFile(r.packPath(name))
			require.NoError(t, err)
			harmless := 0
			for i := range data {
				damage(t, r, name, func(b []byte) []byte { b[i] ^= 1 << (i % 8); return b })
				s := r.open()
				wrong := 0
				for id, want := range c.written {
					_, got, err := s.Get(id)
					if err != nil {
						wrong++
						require.ErrorIs(t, err, objstore.ErrCorrupt)
						continue
					}
					require.Equal(t, string(want), string(got))
				}
				if wrong == 0 {
					harmless++
				}
				require.NoError(t, s.Close())
				damage(t, r, name, func([]byte) []byte { return data })
			}
			assert.LessOrEqual(t, harmless, 20, "bytes in which a damage goes unnoticed: the checksum of the pack's bytes as a whole")
		})
	}
}

func TestATruncatedFileIsCorrupt(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{".pack", ".idx"} {
		t.Run(suffix, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			c := newChain(3)
			c.capture(r, r.open())
			name := r.packs(suffix)[0]
			data, err := os.ReadFile(r.packPath(name))
			require.NoError(t, err)
			for size := range data {
				damage(t, r, name, func([]byte) []byte { return data[:size] })
				s := r.open()
				_, _, err := s.Get(c.tip)
				var corrupt *objstore.CorruptError
				require.ErrorAs(t, err, &corrupt, "size %d", size)
				assert.Equal(t, name, corrupt.File)
				require.NoError(t, s.Close())
			}
		})
	}
}

func TestAGoodCopyIsReadWhereAnotherIsDamaged(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := r.open()
	b := s.Begin()
	id := b.Add(objstore.Blob, []byte("wanted"))
	require.NoError(t, b.Commit(t.Context(), nil))
	damage(t, r, r.packs(".pack")[0], func(b []byte) []byte { b[20] ^= 1; return b })
	_, _, err := r.open().Get(id)
	require.ErrorIs(t, err, objstore.ErrCorrupt)

	b.Add(objstore.Blob, []byte("wanted"))
	b.Add(objstore.Blob, []byte("another"))
	require.NoError(t, b.Commit(t.Context(), nil))
	for range 2 { // whichever of the two is looked into first
		_, data, err := r.open().Get(id)
		require.NoError(t, err)
		assert.Equal(t, "wanted", string(data))
	}
}

func TestADamagedLooseObjectIsCorrupt(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for name, content := range map[string]string{
		"empty":       "",
		"not zlib":    "hello",
		"of other id": "x\x9cK\xca\xc9OR0c(I-.\x01\x00\x19\x8f\x03\xfe",
	} {
		id := testHash().ID(objstore.Blob, []byte(name))
		dir := filepath.Join(r.options().ObjectsDir, id.String()[:2])
		require.NoError(t, os.MkdirAll(dir, 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(dir, id.String()[2:]), []byte(content), 0o666))
		_, _, err := r.open().Get(id)
		assert.ErrorIs(t, err, objstore.ErrCorrupt, name)
	}
}
