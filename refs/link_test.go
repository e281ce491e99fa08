package refs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/fsx/fsxtest"
	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// isOneFile reports whether two refs are names of one file.
func isOneFile(t *testing.T, repo *repotest.Repo, a, b refs.Name) bool {
	t.Helper()
	first, err := os.Lstat(refstest.RefPath(repo, a))
	require.NoError(t, err)
	second, err := os.Lstat(refstest.RefPath(repo, b))
	require.NoError(t, err)
	return os.SameFile(first, second)
}

// appendFrame moves the tip of a run from one value to another, and creates a frame ref at the new value, as an append
// does.
func appendFrame(t *testing.T, db *refs.DB, frame int64, from, to objstore.ID) {
	t.Helper()
	require.NoError(t, db.Apply(t.Context(),
		refs.Update{Name: refstest.Tip(t, "run"), Old: from, New: to}, refs.Update{Name: refstest.Frame(t, "run", frame), New: to}))
}

func TestTheRefOfANewFrameIsALinkToTheTip(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	db, ids := refstest.Open(t, repo, nil), refstest.Objects(t, repo, 3)
	tip, zeroth, first := refstest.Tip(t, "run"), refstest.Frame(t, "run", 0), refstest.Frame(t, "run", 1)

	appendFrame(t, db, 0, objstore.ID{}, ids[0])
	assert.True(t, isOneFile(t, repo, tip, zeroth))
	appendFrame(t, db, 1, ids[0], ids[1])
	assert.True(t, isOneFile(t, repo, tip, first))
	refstest.Want(t, repo, db, tip, ids[1])
	refstest.Want(t, repo, db, zeroth, ids[0])
	refstest.Want(t, repo, db, first, ids[1])

	// Only the ref of a frame is a link, and only to a lock with the same content.
	child, frame, held := refstest.Tip(t, "child"), refstest.Frame(t, "child", 0), refs.Name("refs/smithers/_held/run")
	require.NoError(t, db.Apply(t.Context(), refs.Update{Name: child, New: ids[2]}, refs.Update{Name: frame, New: ids[1]}, refs.Update{Name: held, New: ids[2]}))
	assert.False(t, isOneFile(t, repo, child, frame))
	assert.False(t, isOneFile(t, repo, child, held))
	refstest.Want(t, repo, db, frame, ids[1])
}

func TestARepositoryThatIsSharedHasNoLinks(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	repo.Git("config", "core.sharedRepository", "group")
	db, ids := refstest.Open(t, repo, nil), refstest.Objects(t, repo, 1)
	appendFrame(t, db, 0, objstore.ID{}, ids[0])
	tip, frame := refstest.Tip(t, "run"), refstest.Frame(t, "run", 0)
	assert.False(t, isOneFile(t, repo, tip, frame), "native git writes the refs, with its permissions")
	for _, name := range []refs.Name{tip, frame} {
		info, err := os.Stat(refstest.RefPath(repo, name))
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o660), info.Mode().Perm()&0o660, name)
	}
}

// Whoever moves, deletes or packs one of two linked refs replaces or removes its name, and never writes into the file.
func TestTheOtherNameOfALinkKeepsItsValue(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	for name, change := range map[string]func(t *testing.T, repo *repotest.Repo, db *refs.DB, tip, frame refs.Name, to objstore.ID){
		"git update-ref moves the tip": func(_ *testing.T, repo *repotest.Repo, _ *refs.DB, tip, _ refs.Name, to objstore.ID) {
			repo.Git("update-ref", string(tip), to.String())
		},
		"git update-ref moves the frame": func(_ *testing.T, repo *repotest.Repo, _ *refs.DB, _, frame refs.Name, to objstore.ID) {
			repo.Git("update-ref", string(frame), to.String())
		},
		"git fetch moves the tip": func(_ *testing.T, repo *repotest.Repo, _ *refs.DB, tip, _ refs.Name, to objstore.ID) {
			repo.Git("tag", "new", to.String())
			repo.Git("fetch", "--quiet", ".", "+refs/tags/new:"+string(tip))
		},
		"git deletes the frame": func(_ *testing.T, repo *repotest.Repo, _ *refs.DB, _, frame refs.Name, _ objstore.ID) {
			repo.Git("update-ref", "-d", string(frame))
		},
		"git deletes the tip": func(_ *testing.T, repo *repotest.Repo, _ *refs.DB, tip, _ refs.Name, _ objstore.ID) {
			repo.Git("update-ref", "-d", string(tip))
		},
		"git packs both, and moves the tip": func(_ *testing.T, repo *repotest.Repo, _ *refs.DB, tip, _ refs.Name, to objstore.ID) {
			repo.Git("pack-refs", "--all", "--prune")
			repo.Git("update-ref", string(tip), to.String())
		},
		"an append moves the tip": func(t *testing.T, _ *repotest.Repo, db *refs.DB, _, _ refs.Name, to objstore.ID) {
			t.Helper()
			from, err := db.Resolve(t.Context(), refstest.Tip(t, "run"))
			require.NoError(t, err)
			appendFrame(t, db, 1, from, to)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := refstest.New(t)
			db, ids := refstest.Open(t, repo, nil), refstest.Objects(t, repo, 2)
			tip, frame := refstest.Tip(t, "run"), refstest.Frame(t, "run", 0)
			appendFrame(t, db, 0, objstore.ID{}, ids[0])
			require.True(t, isOneFile(t, repo, tip, frame))

			change(t, repo, db, tip, frame, ids[1])

			kept, gone := 0, 0
			for _, name := range []refs.Name{tip, frame} {
				switch got := repo.Git("for-each-ref", "--format=%(objectname)", string(name)); got {
				case ids[0].String():
					kept++
					refstest.Want(t, repo, db, name, ids[0])
				default:
					gone++
					assert.NotContains(t, got, ids[0].String())
				}
			}
			assert.Equal(t, []int{1, 1}, []int{kept, gone}, "one has changed, the other has not")
		})
	}
}

// linkFS is a file system that answers link in its own way.
type linkFS struct {
	fsx.OS

	link func(from, to string) error
}

func (f linkFS) Link(from, to string) error { return f.link(from, to) }

func TestWithoutLinksEveryRefHasAFile(t *testing.T) {
	t.Parallel()
	for _, refusal := range []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.EXDEV, syscall.EMLINK, syscall.ENOTSUP, syscall.ENOSYS} {
		t.Run(refusal.Error(), func(t *testing.T) {
			t.Parallel()
			repo := refstest.New(t)
			ids, tries := refstest.Objects(t, repo, 1), 0
			db := refstest.Open(t, repo, func(o *refs.Options) {
				o.Fsync = true
				o.FS = linkFS{link: func(from, to string) error {
					tries++
					return &os.LinkError{Op: "link", Old: from, New: to, Err: refusal}
				}}
			})
			appendFrame(t, db, 0, objstore.ID{}, ids[0])
			tip, frame := refstest.Tip(t, "run"), refstest.Frame(t, "run", 0)
			assert.Positive(t, tries)
			if repotest.RefFormat() == "files" { // in a reftable, git moves both
				assert.False(t, isOneFile(t, repo, tip, frame))
			}
			refstest.Want(t, repo, db, tip, ids[0])
			refstest.Want(t, repo, db, frame, ids[0])
		})
	}
}

// A server whose first answer was lost is asked for the link again, and then says that the link exists.
func TestALinkThatIsSaidToExistAlreadyIsOurs(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	ids := refstest.Objects(t, repo, 1)
	db := refstest.Open(t, repo, func(o *refs.Options) {
		o.FS = linkFS{link: func(from, to string) error {
			_ = os.Link(from, to) // the answer is lost
			return os.Link(from, to)
		}}
	})
	appendFrame(t, db, 0, objstore.ID{}, ids[0])
	assert.True(t, isOneFile(t, repo, refstest.Tip(t, "run"), refstest.Frame(t, "run", 0)))
}

func TestALockThatAnotherProcessHoldsIsNotLinked(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	ids, tip, frame := refstest.Objects(t, repo, 1), refstest.Tip(t, "run"), refstest.Frame(t, "run", 0)
	db := refstest.Open(t, repo, func(o *refs.Options) { o.Patience = shortPatience })
	content := ids[0].String() + "\n" // as ours would be
	refstest.WriteRef(t, repo, frame+".lock", content)
	err := db.Apply(t.Context(), refs.Update{Name: tip, New: ids[0]}, refs.Update{Name: frame, New: ids[0]})
	require.ErrorIs(t, err, refs.ErrLocked)
	refstest.Want(t, repo, db, tip, objstore.ID{})
	assert.Equal(t, []string{refstest.RefPath(repo, frame+".lock")}, refstest.Locks(t, repo))
	require.NoError(t, os.Remove(refstest.RefPath(repo, frame+".lock")))
}

func TestALinkedFrameCostsNoFileAndNoFsync(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	ids := refstest.Objects(t, repo, 2)
	files := fsxtest.New(t, repo.GitDir)
	db := refstest.Open(t, repo, func(o *refs.Options) { o.Fsync, o.FS = true, files })
	appendFrame(t, db, 0, objstore.ID{}, ids[0])
	before := len(files.Ops())
	appendFrame(t, db, 1, ids[0], ids[1])
	var ops []string
	for _, op := range files.Ops()[before:] {
		if op.Kind != fsxtest.Write {
			ops = append(ops, op.String())
		}
	}
	const tip, frame = "refs/smithers/_tip/run", "refs/smithers/run/1"
	assert.Equal(t, []string{
		"create " + tip + ".lock",
		fmt.Sprintf("link %s.lock to %s.lock", tip, frame),
		"sync " + tip + ".lock",
		fmt.Sprintf("rename %s.lock to %s", tip, tip),
		fmt.Sprintf("rename %s.lock to %s", frame, frame),
		"syncdir refs/smithers/_tip",
	}, ops)
}

// After every op the power fails. A name that is left has the whole file, and the tip is at its old value or its new one.
func TestACutOfPowerLeavesNoEmptyLink(t *testing.T) {
	t.Parallel()
	repotest.NeedsFiles(t)
	repo := refstest.New(t)
	ids, tip, frame := refstest.Objects(t, repo, 2), refstest.Tip(t, "run"), refstest.Frame(t, "run", 1)
	first := refstest.Open(t, repo, nil)
	appendFrame(t, first, 0, objstore.ID{}, ids[0])
	require.NoError(t, first.Close())
	files := fsxtest.New(t, repo.GitDir)
	db := refstest.Open(t, repo, func(o *refs.Options) { o.Fsync, o.FS = true, files })
	appendFrame(t, db, 1, ids[0], ids[1])

	base, seen := t.TempDir(), make(map[string]bool)
	for op, disk := range files.Replay(nil) {
		for _, cut := range fsxtest.Cuts() {
			dir := filepath.Join(base, strconv.Itoa(len(seen)))
			require.NoError(t, disk.WriteTo(dir, cut))
			at, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(string(tip))))
			require.NoError(t, err, "%v, %s", op, cut)
			assert.Contains(t, []string{ids[0].String() + "\n", ids[1].String() + "\n"}, string(at), "%v, %s", op, cut)
			if linked, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(string(frame)))); err == nil {
				assert.Equal(t, ids[1].String()+"\n", string(linked), "%v, %s", op, cut)
				assert.Equal(t, ids[1].String()+"\n", string(at), "%v, %s: the tip moves first", op, cut)
				seen[op.String()] = true
			}
			require.NoError(t, os.RemoveAll(dir))
		}
	}
	assert.NotEmpty(t, seen)
}
