package objstore_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/fsx/fsxtest"
	"github.com/git-smithers/git-smithers/objstore"
)

// faultKinds are what may go wrong with an op.
var faultKinds = map[string]func(fsxtest.Op) fsxtest.Fault{
	"an I/O error": func(fsxtest.Op) fsxtest.Fault { return fsxtest.Fault{Err: syscall.EIO} },
	"a short write": func(op fsxtest.Op) fsxtest.Fault {
		return onlyOf(op.Kind == fsxtest.Write, fsxtest.Fault{Err: syscall.ENOSPC, Short: true})
	},
	"a failed fsync": func(op fsxtest.Op) fsxtest.Fault {
		return onlyOf(op.IsSync(), fsxtest.Fault{Err: syscall.EIO})
	},
	"a flipped bit": func(op fsxtest.Op) fsxtest.Fault {
		return onlyOf(op.Kind == fsxtest.Write, fsxtest.Fault{Flip: true})
	},
}

func onlyOf(applies bool, fault fsxtest.Fault) fsxtest.Fault {
	if !applies {
		return fsxtest.Fault{}
	}
	return fault
}

func TestAMergeThatMeetsAFaultLosesNothing(t *testing.T) {
	t.Parallel()
	r, c := captured(t, 16)
	require.NoError(t, os.RemoveAll(filepath.Join(r.dir, "hooks"))) // many files to copy
	before := fsxtest.New(t, r.dir).Now()
	for name, kind := range faultKinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, at := t.TempDir(), 0
			for {
				copied := &repo{t, filepath.Join(base, strconv.Itoa(at))}
				require.NoError(t, before.WriteTo(copied.dir, fsxtest.Everything))
				if !mergeWithFault(t, copied, c, at, kind) {
					break
				}
				at++
			}
			assert.Positive(t, at)
		})
	}
}

// mergeWithFault merges, with a fault at the op of the number at of those that may have
// it. Afterwards nothing is missing, nor after a cut of power, and a merge without a
// fault does what is left to do. It returns false where there was no such op.
func mergeWithFault(t *testing.T, r *repo, c *chain, at int, kind func(fsxtest.Op) fsxtest.Fault) bool {
	t.Helper()
	files, number := fsxtest.New(t, r.dir), -1
	files.Fail(func(op fsxtest.Op) fsxtest.Fault {
		fault := kind(op)
		if fault != (fsxtest.Fault{}) {
			number++
		}
		if number != at {
			return fsxtest.Fault{}
		}
		return fault
	})
	s := r.open(func(o *objstore.Options) { o.FS = files })
	_, _ = s.Merge(t.Context()) // most faults are errors
	files.Fail(nil)
	if number < at {
		return false
	}
	c.requireAll(t, s)
	c.requireAll(t, r.open())
	cut := &repo{t, filepath.Join(t.TempDir(), "cut")}
	require.NoError(t, files.Now().WriteTo(cut.dir, fsxtest.Durable))
	c.requireAll(t, cut.open())

	again := r.open()
	r.merge(again)
	needs, err := again.NeedsMerge()
	require.NoError(t, err)
	assert.False(t, needs)
	c.requireAll(t, r.open())
	return true
}
