package timeline_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/fsx/fsxtest"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

func TestWithoutAnyOneOfTheFsyncsAPowerCutLosesSomething(t *testing.T) {
	t.Parallel()
	for _, d := range writes {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			done := record(t, d)
			whole := done.images()
			var looking sync.WaitGroup
			slots := make(chan struct{}, looks)
			syncs := 0
			ops := done.files.Ops()
			for i, op := range ops {
				if !op.IsSync() || done.isPrecaution(op) || isPrecautionOfTables(ops, i) {
					continue
				}
				syncs++
				dir := t.TempDir()
				slots <- struct{}{}
				looking.Go(func() {
					defer func() { <-slots }()
					assert.True(t, done.losesWithout(t, i, dir, whole), "op %d, %s, makes no difference", i, op)
				})
			}
			looking.Wait()
			assert.Positive(t, syncs)
		})
	}
}

// isPrecaution reports whether an fsync is for what else may happen than was recorded.
func (r *recording) isPrecaution(op fsxtest.Op) bool {
	if op.Kind == fsxtest.SyncDir {
		// Folders that were there before may be of a process that has just died. Refs of
		// frames can be made again, and dropped again.
		above, frames := op.Path == "refs" || op.Path == "refs/smithers", op.Path == "refs/smithers/run"
		return r.first > 0 && (above || frames)
	}
	// The ref of a run's newest frame is made again. There may be one more frame.
	newest := make(map[string]string)
	for _, a := range r.acks {
		newest[a.run] = a.address
	}
	for _, address := range newest {
		if op.Path == "refs/smithers/"+strings.Replace(address, ":", "/", 1)+".lock" {
			return true
		}
	}
	return false
}

// isPrecautionOfTables reports whether the fsync ops[i] is for what no cut of these does: to keep the name of a new list and not that of its table,
// which is older, or to keep a lock and not its proof, which stops only what comes next. Of several appends before an ack, and
// of those after the last, one or all name frames, which can be named again.
func isPrecautionOfTables(ops []fsxtest.Op, i int) bool {
	if repotest.RefFormat() == "files" || ops[i].Kind != fsxtest.SyncDir {
		return false
	}
	switch ops[i].Path {
	case ".", "smithers", "smithers/locks":
		return true
	case "reftable":
		isMark := func(op fsxtest.Op) bool { return op.Kind == fsxtest.Mark }
		isAppend := func(op fsxtest.Op) bool { return op.Kind == fsxtest.Rename && op.To == "reftable/tables.list" }
		rest, begin := slices.IndexFunc(ops[i:], isMark), i
		for begin > 0 && !isMark(ops[begin-1]) {
			begin--
		}
		if rest < 0 || isAppend(ops[i+1]) {
			return true
		}
		appends := 0
		for _, op := range ops[begin : i+rest] {
			if isAppend(op) {
				appends++
			}
		}
		return appends > 1
	}
	return false
}

// images returns the sums of everything that a power cut leaves after any op.
func (r *recording) images() map[string]bool {
	images := make(map[string]bool)
	for at, disk := range r.prefixes(-1) {
		for _, cut := range fsxtest.Cuts() {
			images[image(disk, cut, at)] = true
		}
	}
	return images
}

// image sums what a cut leaves, with how many ops were acknowledged before it.
func image(disk *fsxtest.Disk, cut fsxtest.Cut, at prefix) string {
	return fmt.Sprintf("%x %d", disk.Sum(cut), at.acks)
}

// losesWithout reports whether a power cut loses something if the op with the given number
// was not done. It skips the whole images, which are left with every op done.
func (r *recording) losesWithout(t *testing.T, number int, base string, whole map[string]bool) bool {
	t.Helper()
	seen := make(map[string]bool)
	cuts := 0
	for at, disk := range r.prefixes(number) {
		for _, cut := range fsxtest.Cuts() {
			what := image(disk, cut, at)
			if whole[what] || seen[what] {
				continue
			}
			seen[what] = true
			cuts++
			dir := filepath.Join(base, strconv.Itoa(cuts))
			require.NoError(t, disk.WriteTo(dir, cut))
			if err := r.intact(t, dir, at.acks, false); err != nil {
				t.Logf("without op %d: %s: %v", number, cut, err)
				return true
			}
		}
	}
	return false
}
