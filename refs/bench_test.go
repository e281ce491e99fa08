package refs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// BenchmarkApply is what a capture does to refs: the tip moves, a frame is created.
func BenchmarkApply(b *testing.B) {
	for name, native := range map[string]bool{"files": false, "native": true} {
		for _, fsync := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/fsync=%t", name, fsync), func(b *testing.B) {
				repo := repotest.New(b)
				db := refstest.Open(b, repo, func(o *refs.Options) { o.NativeOnly, o.Fsync = native, fsync })
				ids, tip := refstest.Objects(b, repo, 2), refstest.Tip(b, "run")
				require.NoError(b, db.Apply(b.Context(), refs.Update{Name: tip, New: ids[0]}))
				i := 0
				for b.Loop() {
					from, to := ids[i%2], ids[(i+1)%2]
					frame := refstest.Frame(b, "run"+strconv.Itoa(i/manyFrames), int64(i%manyFrames))
					err := db.Apply(b.Context(), refs.Update{Name: tip, Old: from, New: to}, refs.Update{Name: frame, New: to})
					if err != nil {
						b.Fatal(err)
					}
					i++
				}
			})
		}
	}
}

// manyFrames is about as many frames as a run has in files of their own.
const manyFrames = 400

// BenchmarkRead reads refs of a repository with 1,000 runs of 100 frames, packed.
func BenchmarkRead(b *testing.B) {
	repo, id := repotest.New(b), objstore.SHA1.ID(objstore.Blob, nil)
	repo.Damaged() // the objects are of no interest
	writePacked(b, repo, 1000, 100, id)
	db := refstest.Open(b, repo, nil)
	b.Run("resolve", func(b *testing.B) {
		name := refstest.Frame(b, "run0512", 7)
		for b.Loop() {
			if _, err := db.Resolve(b.Context(), name); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("frames of a run", func(b *testing.B) {
		for b.Loop() {
			if frames, err := db.Frames(b.Context(), "run0512"); err != nil || len(frames) != 100 {
				b.Fatal(len(frames), err)
			}
		}
	})
	b.Run("tips", func(b *testing.B) {
		for b.Loop() {
			if tips, err := db.Tips(b.Context()); err != nil || len(tips) != 1000 {
				b.Fatal(len(tips), err)
			}
		}
	})
	b.Run("tips in files", func(b *testing.B) {
		loose := repotest.New(b)
		loose.Damaged()
		for i := range 1000 {
			refstest.WriteRef(b, loose, refstest.Tip(b, fmt.Sprintf("run%04d", i)), id.String()+"\n")
		}
		db := refstest.Open(b, loose, nil)
		for b.Loop() {
			if tips, err := db.Tips(b.Context()); err != nil || len(tips) != 1000 {
				b.Fatal(len(tips), err)
			}
		}
	})
}

// writePacked writes the packed-refs that git would write for some runs.
func writePacked(t testing.TB, repo *repotest.Repo, runs, frames int, id objstore.ID) {
	t.Helper()
	var names []string
	for run := range runs {
		id := fmt.Sprintf("run%04d", run)
		names = append(names, string(refstest.Tip(t, id)))
		for frame := range frames {
			names = append(names, string(refstest.Frame(t, id, int64(frame))))
		}
	}
	var b strings.Builder
	b.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	slices.Sort(names)
	for _, name := range names {
		b.WriteString(id.String() + " " + name + "\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(repo.GitDir, "packed-refs"), []byte(b.String()), 0o666))
}
