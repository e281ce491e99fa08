package refs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// fileTick is longer than the step of a file system's clock. A folder that changed less than a tick ago can change again
	// without another time.
	fileTick = 50 * time.Millisecond
	// deadMigration is the age from which a folder of git refs migrate belongs to no process: --dry-run leaves one, for example.
	deadMigration = 10 * time.Minute
)

// formatWatch notices that another process moves the refs of the repository to another format, as git refs migrate does. git takes
// no lock for that: a ref that is written meanwhile gets lost, and a folder that is made below refs can leave the repository
// without a HEAD. It is safe for concurrent use.
type formatWatch struct {
	dir    string // the repository's common directory
	tables bool   // the refs are in reftables; otherwise in files

	mu      sync.Mutex
	seen    time.Time // the folder's time when its names were last read
	settled bool      // the folder cannot have changed since without another time
}

// check returns an error that wraps ErrUnsupported if the refs are not where they were any more, or are on their way to
// another format. It costs one lstat, unless the folder has changed.
func (w *formatWatch) check() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	info, err := os.Lstat(w.dir)
	if err != nil {
		return err
	}
	if w.settled && info.ModTime().Equal(w.seen) {
		return nil
	}
	w.settled = false
	folder, err := os.Open(w.dir)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return err
	}
	if now := slices.Contains(names, TablesFolder); now != w.tables {
		return fmt.Errorf("%w: git has moved the refs %s a reftable", ErrUnsupported, map[bool]string{true: "into", false: "out of"}[now])
	}
	for _, name := range names {
		if strings.HasPrefix(name, "ref_migration.") && isYoung(filepath.Join(w.dir, name)) {
			return fmt.Errorf("%w: git moves the refs to another format (%s)", ErrUnsupported, name)
		}
	}
	w.seen, w.settled = info.ModTime(), age(info) > fileTick
	return nil
}

// isYoung reports whether a file exists that was changed less than deadMigration ago.
func isYoung(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && age(info) < deadMigration
}

// age returns how long ago a file was changed.
func age(info os.FileInfo) time.Duration {
	return time.Since(info.ModTime()) //nolint:forbidigo // the clock of the file system, which dates nothing that is stored
}
