package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/refs"
)

// packIndex notes locks that stop git from writing a multi-pack-index, and a multi-pack-index that names
// missing packs. Earlier versions of git-smithers left such an index if git maintenance ran at the same time.
func (e *examination) packIndex(ctx context.Context) error {
	if err := e.packIndexLocks(); err != nil {
		return err
	}
	missing, err := e.store.Objects().MissingPacks()
	if err != nil || len(missing) == 0 {
		return err
	}
	what := "names the missing pack " + missing[0]
	if more := len(missing) - 1; more > 0 {
		what = fmt.Sprintf("names the missing pack %s and %s", missing[0], plain.Count(more, "more missing pack"))
	}
	e.note(Finding{
		Kind: MissingPack, Where: "objects/pack/multi-pack-index", What: what + "; git may not find objects of other packs",
		Repair: "moves the index away, so that git reads the index of each pack",
	}, func(ctx context.Context) error { return e.store.Objects().MendPacks(ctx, e.aside.path("objects")) })
	return nil
}

// packIndexLocks notes locks of the multi-pack-index. If a killed merge of packs left locks, packIndexLocks notes
// these locks alone. Otherwise, it notes the locks that are at least staleLock old.
func (e *examination) packIndexLocks() error {
	own, err := e.store.Objects().LeftLocks()
	if err != nil {
		return err
	}
	for _, file := range own {
		e.note(Finding{
			Kind: StaleLock, Where: path.Join("objects", file), What: "a process that died while it merged packs left this lock", Repair: "removes the lock",
		}, func(ctx context.Context) error { return e.store.Objects().MendPacks(ctx, e.aside.path("objects")) })
	}
	if len(own) > 0 {
		return nil
	}
	for _, file := range e.store.Objects().IndexLocks() {
		file = path.Join("objects", file)
		info, err := os.Lstat(e.aside.inCommonDir(file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		lock := refs.LockFile{File: file, Made: info.ModTime()}
		if age := e.store.Now().Sub(lock.Made); age >= staleLock {
			e.note(Finding{
				Kind: StaleLock, Where: file, Repair: "moves the lock away",
				What: fmt.Sprintf("a lock that is %s old stops git from writing a multi-pack-index, and git-smithers from merging packs", age.Round(time.Minute)),
			}, func(ctx context.Context) error { return e.repairs.removeLock(ctx, lock) })
		}
	}
	return nil
}
