package langgraph_test

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/fsx/fsxtest"
	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A disk is full, or fails, from one op of a put on, each in turn. The put is refused with a code or is there, and succeeds
// when it is sent again.
func TestAPutThatMeetsAFaultOfTheDiskCanBeSentAgain(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		name string
		err  error
		code fault.Code
	}{{"full", syscall.ENOSPC, fault.DiskFull}, {"broken", syscall.EIO, fault.WriteFailed}, {"read-only", syscall.EROFS, fault.ReadOnly}} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			files := fsxtest.New(t, repo.Dir)
			s, err := timeline.Open(t.Context(), timeline.Options{
				Dir: repo.Dir, Env: append(repo.Env, "GIT_SMITHERS_FSYNC=1"), Now: time.Now, FS: files, LateNames: true,
			})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, s.Close()) })
			d := &desk{langgraph.Open(s), t, repo}
			d.store(put("0", "", 1, `"first"`))
			refused := 0
			for at := 0; ; at++ {
				id := string(rune('a' + at))
				count := 0
				files.Fail(func(op fsxtest.Op) fsxtest.Fault {
					if op.Kind == fsxtest.Remove {
						return fsxtest.Fault{}
					}
					if count++; count > at {
						return fsxtest.Fault{Err: f.err}
					}
					return fsxtest.Fault{}
				})
				_, err := d.Put(t.Context(), "t", put(id, "0", 2, `"`+id+`"`))
				files.Fail(nil)
				if err != nil {
					refused++
					assert.Equal(t, f.code, fault.CodeOf(err), "at op %d: %v", at, err)
					d.store(put(id, "0", 2, `"`+id+`"`))
				}
				assert.Equal(t, map[string]string{"a": `"` + id + `"`}, d.values(id))
				assert.Equal(t, map[string]string{"a": `"first"`}, d.values("0"))
				if count <= at {
					break
				}
			}
			assert.Positive(t, refused)
		})
	}
}

// A power cut after any op of puts and writes leaves a thread that is whole, and that has everything if writes are durable.
func TestACutOfPowerLeavesAThreadWhole(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"durable": false, "process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			require.Empty(t, repotest.Settle(repo.Dir), "git's own maintenance has ended")
			files := fsxtest.New(t, repo.Dir)
			open := func(dir string, fs *fsxtest.FS) *desk {
				opts := timeline.Options{Dir: dir, Env: append(repo.Env, "GIT_SMITHERS_FSYNC=1"), Now: time.Now, LateNames: late}
				if fs != nil {
					opts.FS = fs
				}
				s, err := timeline.Open(t.Context(), opts)
				require.NoError(t, err)
				return &desk{langgraph.Open(s), t, repo}
			}
			d := open(repo.Dir, files)
			var acknowledged []string
			for _, id := range []string{"1", "2", "3"} {
				d.store(put(id, "", 1, `"`+id+`"`))
				write := langgraph.Write{Task: "task", Channel: "a", Value: langgraph.Value{Type: "json", Data: []byte(id)}}
				require.NoError(t, d.PutWrites(t.Context(), "t", langgraph.Key{ID: id}, []langgraph.Write{write}, false))
				files.Mark(id)
				acknowledged = append(acknowledged, id)
			}
			require.NoError(t, d.Store().Close())
			require.Len(t, acknowledged, 3)

			base, number, marks := t.TempDir(), 0, 0
			for op, disk := range files.Replay(nil) {
				if op.Kind == fsxtest.Mark {
					marks++
				}
				if number++; number%repotest.Size(4, 1) != 0 && op.Kind != fsxtest.Mark {
					continue
				}
				dir := filepath.Join(base, time.Now().Format("150405.000000000"))
				require.NoError(t, disk.WriteTo(dir, fsxtest.Durable))
				cut := open(dir, nil)
				ids := cut.ids()
				for _, id := range ids {
					assert.Equal(t, map[string]string{"a": `"` + id + `"`}, cut.values(id))
				}
				if !late {
					assert.GreaterOrEqual(t, len(ids), marks, "after op %d", number)
				}
				require.NoError(t, cut.Store().Close())
			}
		})
	}
}

// A thread that was deleted is collected while another process keeps it open.
func TestCollectWaitsForNoThread(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.store(put("1", "", 1, `1`))
	other := deskIn(t, d.repo)
	require.NoError(t, other.Delete(t.Context(), "t"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	d.repo.Git("gc", "--quiet", "--prune=now")
	_, err := collect(ctx, other)
	require.NoError(t, err)
	assert.Empty(t, d.ids())
	d.store(put("2", "", 1, `2`))
	assert.Equal(t, []string{"2"}, d.ids())
}
