package objstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// FsyncPolicy determines when a write is complete.
type FsyncPolicy uint8

const (
	// Durable fsyncs packs, their indexes and the directory. It is the default.
	Durable FsyncPolicy = iota
	// Relaxed leaves the order and time of writing to the operating system.
	Relaxed
)

const (
	defaultCacheBytes   = 32 << 20
	defaultMaxObject    = 1 << 30
	defaultMaxMergePack = 64 << 20
)

// ErrClosed is returned by a closed [Store].
var ErrClosed = errors.New("object store is closed")

// Options configure a [Store].
type Options struct {
	// ObjectsDir is the repository's object directory, "<common dir>/objects".
	ObjectsDir string
	// TempDir holds unfinished files, on the file system of ObjectsDir. It must not
	// be inside it: git gc --prune=now deletes tmp_* files there. It is made by the
	// first write.
	TempDir string
	Fsync   FsyncPolicy
	// CacheBytes bounds the memory kept for objects that were read or written; 0 means 32 MiB.
	CacheBytes int64
	// MaxObject is the size in bytes of the largest object that is read; a larger
	// one is a [*CorruptError]. 0 means 1 GiB.
	MaxObject int64
	// MaxMergePack is the size in bytes from which a pack is left out of merges; 0 means 64 MiB.
	MaxMergePack int64
	// Failpoint, when set, is called at named points of a write and a merge; its
	// error ends the operation there. Tests kill the process in it. The points, in order:
	// after-pack-temp, after-pack-rename, after-idx-rename, before-refs;
	// merge-after-rename, merge-before-removes, merge-between-removes.
	Failpoint func(name string) error
	// FS receives the store's writes; nil means the real file system. Tests use it to inject failed
	// writes and power cuts.
	FS fsx.FS
}

// Store is the object database of one repository. It is safe for concurrent use
// by goroutines, and any number of processes may have a Store of the same
// repository beside git itself.
type Store struct {
	opts        Options
	cache       *cache
	temp        *tempDir
	main        *objectDir
	packWriters sync.Pool // of *packWriter, for their buffers

	// life is held for reading by whatever uses files, and for writing by Close.
	life   sync.RWMutex
	closed bool

	alternatesOnce sync.Once
	alternates     []*objectDir
	alternatesErr  error

	besideMidx atomic.Bool // packs were removed where git uses a multi-pack-index

	foreignMu sync.Mutex
	foreign   map[string]bool // packs that are left alone, by name: of others, most of them
}

// Open opens the store. It reads nothing until the first Get and creates nothing
// until the first write.
func Open(opts Options) (*Store, error) {
	if opts.ObjectsDir == "" || opts.TempDir == "" {
		return nil, errors.New("open object store: no object directory or no temporary directory")
	}
	rel, err := filepath.Rel(opts.ObjectsDir, opts.TempDir)
	if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return nil, fmt.Errorf("open object store: temporary directory %q is inside the object directory", opts.TempDir)
	}
	opts.CacheBytes = defaultTo(opts.CacheBytes, defaultCacheBytes)
	opts.MaxObject = defaultTo(opts.MaxObject, defaultMaxObject)
	opts.MaxMergePack = defaultTo(opts.MaxMergePack, defaultMaxMergePack)
	if opts.FS == nil {
		opts.FS = fsx.OS{}
	}
	s := &Store{
		opts:    opts,
		cache:   newCache(opts.CacheBytes),
		temp:    &tempDir{fs: opts.FS, path: opts.TempDir},
		foreign: make(map[string]bool),
	}
	s.main = newObjectDir(opts.ObjectsDir, newReading(s.cache, opts.MaxObject))
	return s, nil
}

func defaultTo(value, fallback int64) int64 {
	if value == 0 {
		return fallback
	}
	return value
}

// Close releases files and waits for a merge in progress. The store must not be used afterwards.
// Closing twice does nothing.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.temp.close()
	errs := []error{s.main.close()}
	for _, d := range s.alternates {
		errs = append(errs, d.close())
	}
	return errors.Join(errs...)
}

// enter keeps the store open until s.life.RUnlock; on an error there is nothing to unlock.
func (s *Store) enter() error {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return ErrClosed
	}
	return nil
}

// Begin starts a batch.
func (s *Store) Begin() *Batch {
	return &Batch{store: s, objects: make(map[ID]int)}
}

// failpoint runs the hook of [Options.Failpoint].
func (s *Store) failpoint(name string) error {
	if s.opts.Failpoint == nil {
		return nil
	}
	if err := s.opts.Failpoint(name); err != nil {
		return fmt.Errorf("at %s: %w", name, err)
	}
	return nil
}

// stopped returns an error if the context has ended.
func stopped(ctx context.Context, doing string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
