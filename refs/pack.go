package refs

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// manyLoose is the number of loose refs from which packing is worthwhile. Each loose ref takes 4 KB of disk
// and costs every git log on a terminal some microseconds.
const manyLoose = 400

// touchedRuns holds the ref components of the runs whose frame refs a DB wrote since it last packed the refs. It is
// safe for concurrent use.
type touchedRuns struct {
	mu         sync.Mutex
	components map[string]bool
}

// add adds to t the run of each frame ref in updates. It ignores other refs.
func (t *touchedRuns) add(updates []Update) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, u := range updates {
		if component, frame, err := u.Name.Split(); err == nil && frame != NoFrame {
			if t.components == nil {
				t.components = make(map[string]bool)
			}
			t.components[component] = true
		}
	}
}

// list returns the ref components in t, in no particular order.
func (t *touchedRuns) list() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.components))
}

// clear removes all runs from t.
func (t *touchedRuns) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.components)
}

// PackIfMany packs all refs of the repository with git if there are many loose refs: see manyLoose. If another
// goroutine or process is packing, PackIfMany does nothing and returns nil.
func (db *DB) PackIfMany(ctx context.Context) error {
	if db.reader.tables != nil { // each append merges
		return nil
	}
	if !db.packing.TryLock() {
		return nil
	}
	defer db.packing.Unlock()
	many, err := db.manyLoose()
	if err != nil || !many {
		return err
	}
	return db.pack(ctx)
}

// manyLoose reports whether the folders of this program hold at least manyLoose names. It counts the folders of runs,
// the loose tips, and the loose frames of each run that db wrote to since it last packed. It does not read the
// folders of other runs.
func (db *DB) manyLoose() (bool, error) {
	folders := []string{prefix, tipPrefix}
	for _, component := range db.touched.list() {
		folders = append(folders, prefix+component)
	}
	count := 0
	for _, folder := range folders {
		names, err := readNames(filepath.Join(db.reader.dir, filepath.FromSlash(folder)))
		if err != nil {
			return false, err
		}
		if count += len(names); count >= manyLoose {
			return true, nil
		}
	}
	return false, nil
}

// pack runs git pack-refs and clears db.touched. If another process of this program is packing, pack does
// nothing.
func (db *DB) pack(ctx context.Context) (err error) {
	folder := filepath.Join(db.reader.dir, filepath.FromSlash(locksFolder))
	if err := db.opts.FS.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(folder, "pack"), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o666))
	ours, err := lock.TryLock()
	if err != nil || !ours {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	// Packing changes no ref, but git would run the user's reference-transaction hook for each packed ref.
	options := append(db.native.options(), gitexec.NoHooks(db.opts.Repo.Config)...)
	if _, err = db.git.Run(ctx, append(options, "pack-refs", "--all", "--prune")...); err != nil {
		return err
	}
	db.touched.clear()
	return nil
}
