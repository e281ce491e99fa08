package objstore_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/objstore"
)

// quarantine is an object directory beside the repository's, whose objects git
// does not write again.
type quarantine struct {
	*repo

	dir string
}

func (r *repo) quarantine() *quarantine {
	r.t.Helper()
	q := &quarantine{r, filepath.Join(r.t.TempDir(), "objects")}
	require.NoError(r.t, os.Mkdir(q.dir, 0o777))
	return q
}

// write makes git store a file in the quarantine.
func (q *quarantine) write(text string, options ...string) objstore.ID {
	q.t.Helper()
	path := filepath.Join(q.t.TempDir(), "file")
	require.NoError(q.t, os.WriteFile(path, []byte(text), 0o666))
	env := []string{
		"GIT_OBJECT_DIRECTORY=" + q.dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(q.repo.dir, "objects"),
	}
	out, err := q.runWith(env, "", append(options, "hash-object", "-w", path)...)
	require.NoError(q.t, err, out)
	id, err := objstore.ParseID(strings.TrimSpace(out))
	require.NoError(q.t, err)
	return id
}

func (q *quarantine) path(id objstore.ID) string {
	return filepath.Join(q.dir, id.String()[:2], id.String()[2:])
}

// replace makes the file of an object hold other bytes.
func (q *quarantine) replace(id objstore.ID, data []byte) {
	q.t.Helper()
	require.NoError(q.t, os.Chmod(q.path(id), 0o666))
	require.NoError(q.t, os.WriteFile(q.path(id), data, 0o666))
}

// texts are a few files of all sizes: those above 1 MiB are streamed.
func texts() []string {
	return []string{"", "small\n", strings.Repeat("line\n", 20_000), strings.Repeat("0123456789abcdef", 200_000)}
}

func requireTexts(t *testing.T, r objstore.Reader, texts ...string) {
	t.Helper()
	for _, text := range texts {
		data, err := objstore.GetKind(r, testHash().ID(objstore.Blob, []byte(text)), objstore.Blob)
		require.NoError(t, err)
		require.Equal(t, text, string(data))
	}
}

func TestLooseObjectsGoIntoTheOnePackOfABatch(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	q := r.quarantine()
	for _, text := range texts() {
		q.write(text)
	}
	b := r.open().Begin()
	first := b.Add(objstore.Blob, []byte("small\n"))
	require.NoError(t, objstore.AddLoose(b, q.dir))
	assert.Equal(t, len(texts()), b.Len(), "what was added before is taken once")
	require.NoError(t, objstore.AddLoose(b, q.dir))
	assert.Equal(t, first, b.Add(objstore.Blob, []byte("small\n")))
	b.Add(objstore.Blob, []byte(texts()[2]))
	assert.Equal(t, len(texts()), b.Len())
	requireTexts(t, b, texts()...)
	tip := newChain(3).step(b)
	require.NoError(t, b.Commit(t.Context(), r.moveTip(tip)))
	assert.Len(t, r.packs(".pack"), 1)
	require.NoError(t, os.RemoveAll(q.dir))
	requireTexts(t, r.open(), texts()...)
	r.git("index-pack", "--strict", "-o", filepath.Join(t.TempDir(), "again.idx"), r.packPath(r.packs(".pack")[0]))
	r.git("verify-pack", r.packPath(r.packs(".idx")[0]))
	out := r.git("verify-pack", "-v", r.packPath(r.packs(".idx")[0]))
	assert.Regexp(t, tip.String()+` commit \d+ \d+ 12\n`, out, "the commit is first all the same")
}

func TestOtherWritersReadLooseObjectsAtOnce(t *testing.T) {
	t.Parallel()
	q := newRepo(t).quarantine()
	for _, text := range texts() {
		q.write(text)
	}
	m := &objstoretest.Memory{Algorithm: testHash()}
	require.NoError(t, objstore.AddLoose(m, q.dir))
	require.NoError(t, os.RemoveAll(q.dir))
	requireTexts(t, m, texts()...)
	assert.Equal(t, len(texts()), m.Len())
}

func TestFilesThatGitPutIntoPacksAreAddedToo(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	q := r.quarantine()
	large := texts()[2:]
	for _, text := range large {
		q.write(text, "-c", "core.bigFileThreshold=1k")
	}
	packs, err := filepath.Glob(filepath.Join(q.dir, "pack", "*.pack"))
	require.NoError(t, err)
	require.NotEmpty(t, packs, "git writes large files as packs")
	q.write("small\n")
	for _, w := range []objstore.Writer{&objstoretest.Memory{Algorithm: testHash()}, r.open().Begin()} {
		require.NoError(t, objstore.AddLoose(w, q.dir))
		requireTexts(t, w, append(large, "small\n")...)
		if b, ok := w.(*objstore.Batch); ok {
			require.NoError(t, b.Commit(t.Context(), nil))
			requireTexts(t, r.open(), append(large, "small\n")...)
		}
	}
}

func TestDeltasInAQuarantinedPackAreResolved(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	c := newChain(40)
	s := r.open()
	for range 5 {
		c.capture(r, s)
	}
	r.git("repack", "-adfq", "--depth=20")
	other := newRepo(t)
	b := other.open().Begin()
	require.NoError(t, objstore.AddLoose(b, filepath.Join(r.dir, "objects")))
	c.requireAll(t, b)
	require.NoError(t, b.Commit(t.Context(), other.moveTip(c.tip)))
	c.requireAll(t, other.open())
	other.fsck()
}

func TestWhatGitHasNotFinishedIsLeftAlone(t *testing.T) {
	t.Parallel()
	q := newRepo(t).quarantine()
	id := q.write("small\n")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(q.path(id)), "tmp_obj_x"), []byte("x"), 0o666))
	require.NoError(t, os.MkdirAll(filepath.Join(q.dir, "info"), 0o777))
	m := &objstoretest.Memory{Algorithm: testHash()}
	require.NoError(t, objstore.AddLoose(m, q.dir))
	assert.Equal(t, 1, m.Len())
	assert.NoError(t, objstore.AddLoose(m, filepath.Join(q.dir, "none")), "no folder has no objects")
}

func TestADamagedLooseObjectIsNotCommitted(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, 3 << 20} {
		for name, damage := range map[string]func(*quarantine, objstore.ID){
			"no zlib stream":     func(q *quarantine, id objstore.ID) { q.replace(id, []byte("no zlib stream")) },
			"nothing":            func(q *quarantine, id objstore.ID) { q.replace(id, nil) },
			"cut short":          func(q *quarantine, id objstore.ID) { q.replace(id, q.bytes(id)[:q.size(id)-9]) },
			"of another content": func(q *quarantine, id objstore.ID) { q.replace(id, q.bytes(q.write(strings.Repeat("b", size)))) },
			"of another size":    func(q *quarantine, id objstore.ID) { q.replace(id, q.bytes(q.write("c"))) },
		} {
			t.Run(fmt.Sprint(name, " of ", size), func(t *testing.T) {
				t.Parallel()
				r := newRepo(t)
				q := r.quarantine()
				id := q.write(strings.Repeat("a", size))
				damage(q, id)
				b := r.open().Begin()
				err := objstore.AddLoose(b, q.dir)
				if err == nil {
					_, _, err := b.Get(id)
					require.ErrorIs(t, err, objstore.ErrCorrupt)
					err = b.Commit(t.Context(), func() error { t.Error("then ran"); return nil })
					require.ErrorIs(t, err, objstore.ErrCorrupt)
				} else {
					require.ErrorIs(t, err, objstore.ErrCorrupt)
				}
				assert.Empty(t, r.packs(""))
				assert.ErrorIs(t, objstore.AddLoose(&objstoretest.Memory{Algorithm: testHash()}, q.dir), objstore.ErrCorrupt)
			})
		}
	}
}

func (q *quarantine) bytes(id objstore.ID) []byte {
	q.t.Helper()
	data, err := os.ReadFile(q.path(id))
	require.NoError(q.t, err)
	return bytes.Clone(data)
}

func (q *quarantine) size(id objstore.ID) int { return len(q.bytes(id)) }

func TestADamagedPackInAQuarantineIsAnError(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	q := r.quarantine()
	q.write(texts()[3], "-c", "core.bigFileThreshold=1k")
	packs, err := filepath.Glob(filepath.Join(q.dir, "pack", "*.pack"))
	require.NoError(t, err)
	require.Len(t, packs, 1)
	data, err := os.ReadFile(packs[0])
	require.NoError(t, err)
	data[len(data)/2] ^= 0xff
	require.NoError(t, os.Chmod(packs[0], 0o666))
	require.NoError(t, os.WriteFile(packs[0], data, 0o666))
	b := r.open().Begin()
	require.NoError(t, objstore.AddLoose(b, q.dir))
	require.ErrorIs(t, b.Commit(t.Context(), nil), objstore.ErrCorrupt)
	assert.Empty(t, r.packs(""))
	require.NoError(t, os.Truncate(packs[0], 5))
	assert.ErrorIs(t, objstore.AddLoose(&objstoretest.Memory{Algorithm: testHash()}, q.dir), objstore.ErrCorrupt)
}

func TestAnObjectThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	q := r.quarantine()
	q.write(texts()[2])
	b := r.open(func(o *objstore.Options) { o.MaxObject = 1000 }).Begin()
	assert.ErrorIs(t, objstore.AddLoose(b, q.dir), objstore.ErrCorrupt)
}

func TestAFailedWriteOfLooseObjectsMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"after-pack-temp", "after-pack-rename", "after-idx-rename", "before-refs"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			q := r.quarantine()
			for _, text := range texts() {
				q.write(text)
			}
			failing := true
			b := r.open(func(o *objstore.Options) {
				o.Failpoint = func(name string) error {
					if failing && name == point {
						return syscall.ENOSPC
					}
					return nil
				}
			}).Begin()
			require.NoError(t, objstore.AddLoose(b, q.dir))
			require.ErrorIs(t, b.Commit(t.Context(), nil), syscall.ENOSPC)
			failing = false
			require.NoError(t, b.Commit(t.Context(), nil))
			requireTexts(t, r.open(), texts()...)
			assert.Zero(t, b.Len())
		})
	}
}

func TestAQuarantineThatIsGoneIsNoCorruption(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	q := r.quarantine()
	q.write("small\n")
	b := r.open().Begin()
	require.NoError(t, objstore.AddLoose(b, q.dir))
	require.NoError(t, os.RemoveAll(q.dir))
	err := b.Commit(t.Context(), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.NotErrorIs(t, err, objstore.ErrCorrupt)
}

// It does not run beside others, whose memory it would count.
//
//nolint:paralleltest // see above
func TestLargeFilesAreNeverInMemoryAsAWhole(t *testing.T) {
	r := newRepo(t)
	q := r.quarantine()
	const files, size = 8, 8 << 20
	for i := range files {
		q.write(strings.Repeat(fmt.Sprintf("%016d", i), size/16))
	}
	s := r.open()
	b := s.Begin()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, objstore.AddLoose(b, q.dir))
	require.NoError(t, b.Commit(t.Context(), nil))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size), "all that was ever allocated")
	runtime.KeepAlive(s)
}

func TestALooseObjectThatCannotBeReadIsNotDamaged(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	id := testHash().ID(objstore.Blob, []byte("text"))
	// A folder opens like a file, and reading it fails.
	require.NoError(t, os.MkdirAll(filepath.Join(r.dir, "objects", id.String()[:2], id.String()[2:]), 0o755))
	_, _, err := r.open().Get(id)
	require.ErrorIs(t, err, syscall.EISDIR)
	var damaged *objstore.CorruptError
	assert.NotErrorAs(t, err, &damaged)
	require.NoError(t, os.RemoveAll(filepath.Join(r.dir, "objects", id.String()[:2])))
}
