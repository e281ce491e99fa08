package objstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/git-smithers/git-smithers/internal/fsx"
)

// FsyncPolicy determines when a write to the store is complete.
type FsyncPolicy uint8

const (
	// Durable puts packs, their indexes and the directory on stable storage before a write is
	// complete. It is the default.
	Durable FsyncPolicy = iota
	// Relaxed leaves the order and time of writing to the operating system.
	Relaxed
)

const (
	defaultCacheBytes   = 32 << 20
	defaultMaxObject    = 1 << 30
	defaultMaxMergePack = 64 << 20
)

// ErrClosed is wrapped by the errors of a closed [Store].
var ErrClosed = errors.New("object store is closed")

// Options configure a [Store].
type Options struct {
	// ObjectsDir is the repository's object directory, "<common dir>/objects".
	ObjectsDir string
	// TempDir is the folder for unfinished files, on the file system of ObjectsDir. The first write
	// makes the folder. It must not be inside ObjectsDir, because git gc --prune=now deletes tmp_*
	// files there.
	TempDir string
	// Hash is the hash with which the repository names its objects; 0 means SHA1.
	Hash Algorithm
	// Fsync determines when a write is complete. The zero value is Durable.
	Fsync FsyncPolicy
	// CacheBytes is the memory in bytes that the store keeps for objects that were read or written;
	// 0 means 32 MiB.
	CacheBytes int64
	// MaxObject is the size in bytes of the largest object that the store reads; 0 means 1 GiB. For a larger
	// object, the error is a [*CorruptError].
	MaxObject int64
	// MaxMergePack is the size in bytes from which a pack is too large to be merged; 0 means 64 MiB.
	MaxMergePack int64
	// Failpoint, if not nil, is called at named points of a write, a merge or a drop. If it returns an error,
	// the operation stops there and returns the error. Tests kill the process in Failpoint.
	//
	// A write calls after-pack-temp, after-pack-rename, after-idx-rename and before-refs, in this order. A
	// merge calls merge-staged, merge-after-rename, merge-before-removes and merge-between-removes. A drop
	// calls drop-staged and drop-after-rename instead of the first two points of a merge.
	Failpoint func(name string) error
	// FS performs the store's writes. nil means the real file system. Tests use FS to inject failed
	// writes and power cuts.
	FS fsx.FS
}

// Store is the object database of one repository. It is safe for concurrent use by goroutines. Any
// number of processes, including git, may use the same repository at the same time.
type Store struct {
	opts       Options
	cache      *cache
	temp       *tempDir
	main       *objectDir
	packs      *packMaker
	owners     *packOwners
	midx       *multiIndex
	failpoints failpoints

	chooser  mergeChooser
	merger   *merger
	dropper  *dropper
	salvager salvager
	sweeper  *sweeper

	// life is locked for reading while files are used. Close locks it for writing.
	life   sync.RWMutex
	closed bool

	alternatesOnce sync.Once
	alternates     []*objectDir
	alternatesErr  error
}

// Open returns a Store with the given options. It neither reads nor creates a file. It returns an error if
// ObjectsDir or TempDir is empty, or if TempDir is ObjectsDir or is inside ObjectsDir.
func Open(opts Options) (*Store, error) {
	if opts.ObjectsDir == "" || opts.TempDir == "" {
		return nil, errors.New("open object store: no object directory or no temporary directory")
	}
	rel, err := filepath.Rel(opts.ObjectsDir, opts.TempDir)
	if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return nil, fmt.Errorf("open object store: temporary directory %q is inside the object directory", opts.TempDir)
	}
	if opts.Hash == 0 {
		opts.Hash = SHA1
	}
	opts.CacheBytes = defaultTo(opts.CacheBytes, defaultCacheBytes)
	opts.MaxObject = defaultTo(opts.MaxObject, defaultMaxObject)
	opts.MaxMergePack = defaultTo(opts.MaxMergePack, defaultMaxMergePack)
	if opts.FS == nil {
		opts.FS = fsx.OS{}
	}
	s := &Store{
		opts:       opts,
		cache:      newCache(opts.CacheBytes),
		temp:       &tempDir{fs: opts.FS, path: opts.TempDir},
		failpoints: opts.Failpoint,
	}
	s.main = newObjectDir(opts.ObjectsDir, newReading(opts.Hash, s.cache, opts.MaxObject))
	files := packFiles{dir: s.main.packDir(), temp: s.temp}
	s.packs = &packMaker{temp: s.temp, files: files, main: s.main, fsync: opts.Fsync}
	s.owners = newPackOwners(s.main)
	s.midx = &multiIndex{dir: files.dir, temp: s.temp}
	s.equip(files)
	return s, nil
}

// equip sets the parts of the store that merge, drop, salvage and sweep packs.
func (s *Store) equip(files packFiles) {
	s.chooser = mergeChooser{hash: s.opts.Hash, files: files, owners: s.owners, maxBytes: s.opts.MaxMergePack}
	s.sweeper = &sweeper{dir: s.main, files: files, packs: s.packs, owners: s.owners}
	s.salvager = salvager{dir: s.main, files: files, packs: s.packs, failpoints: s.failpoints}
	replacer := &replacer{files: files, dir: s.main, packs: s.packs, midx: s.midx, failpoints: s.failpoints}
	s.merger = &merger{
		temp: s.temp, dir: s.main, packs: s.packs, replacer: replacer,
		midx: s.midx, sweeper: s.sweeper, failpoints: s.failpoints,
	}
	s.dropper = &dropper{
		temp: s.temp, files: files, dir: s.main, owners: s.owners, packs: s.packs, replacer: replacer,
		maxBytes: s.opts.MaxMergePack, failpoints: s.failpoints,
	}
}

// defaultTo returns value, or fallback if value is 0.
func defaultTo(value, fallback int64) int64 {
	if value == 0 {
		return fallback
	}
	return value
}

// Close waits for calls in progress, such as a merge, and closes the files. Later calls that need files fail
// with [ErrClosed]. A second Close does nothing and returns nil.
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

// enter prevents Close until the caller calls s.life.RUnlock. If the store is closed, enter returns
// [ErrClosed], and the caller must not unlock.
func (s *Store) enter() error {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return ErrClosed
	}
	return nil
}

// Begin returns an empty batch for the objects of one write.
func (s *Store) Begin() *Batch {
	return &Batch{store: s, objects: make(map[ID]int32)}
}

// Hash returns the hash with which the repository names its objects.
func (s *Store) Hash() Algorithm { return s.opts.Hash }

// Get returns the kind and the bytes of an object, verified against its id. The bytes are shared and must not
// be changed. Get looks in packs, among loose objects and in alternates. If there is no copy, the error wraps
// [ErrNotFound]. If every copy is damaged, or the object has more than MaxObject bytes, the error is a
// [*CorruptError].
func (s *Store) Get(id ID) (Kind, []byte, error) { return s.GetAtMost(id, s.opts.MaxObject) }

// GetAtMost returns the kind and the bytes of an object as Get does. For an object of more than limit bytes,
// the error is a [*CorruptError]. GetAtMost checks the size before it takes memory for the object or for bases
// of deltas.
func (s *Store) GetAtMost(id ID, limit int64) (Kind, []byte, error) {
	return s.getThrough(s.cache, id, limit)
}

// getThrough returns an object of at most limit bytes from the cache c or, if c does not have the object, from
// files. It adds an object from files to c. For an object of more than limit or MaxObject bytes, the error is a
// [*CorruptError].
func (s *Store) getThrough(c *cache, id ID, limit int64) (Kind, []byte, error) {
	limit = min(limit, s.opts.MaxObject)
	if o, ok := c.get(keyOf(id)); ok && int64(len(o.data)) <= limit {
		return o.kind, o.data, nil
	}
	if err := s.enter(); err != nil {
		return 0, nil, fmt.Errorf("read object %v: %w", id, err)
	}
	defer s.life.RUnlock()
	o, err := s.read(id, limit)
	if err != nil {
		return 0, nil, err
	}
	c.put(keyOf(id), o)
	return o.kind, o.data, nil
}

// read returns an object of at most limit bytes from the files of the store or, if these have no sound copy,
// from an alternate. If there are only damaged copies, the error is about the first of them. If there is no
// copy, the error wraps ErrNotFound. But if the list of alternates is unreadable, the error is about the list.
func (s *Store) read(id ID, limit int64) (object, error) {
	if id.Algorithm() != s.opts.Hash { // id is zero, or another repository's
		return object{}, fmt.Errorf("%w: %v", ErrNotFound, id)
	}
	o, err := s.main.read(id, limit)
	if err == nil {
		return o, nil
	}
	s.alternatesOnce.Do(s.openAlternates)
	for _, d := range s.alternates {
		o, otherErr := d.read(id, limit)
		if otherErr == nil {
			return o, nil
		}
		if errors.Is(err, ErrNotFound) {
			err = otherErr
		}
	}
	if errors.Is(err, ErrNotFound) && s.alternatesErr != nil {
		return object{}, fmt.Errorf("read object %v: alternates: %w", id, s.alternatesErr)
	}
	return object{}, err
}

// openAlternates sets s.alternates. If the list of alternates is unreadable, openAlternates sets
// s.alternatesErr. s.read returns s.alternatesErr for an object that it does not find.
func (s *Store) openAlternates() {
	var paths []string
	paths, s.alternatesErr = Alternates(s.opts.ObjectsDir)
	for _, path := range paths {
		s.alternates = append(s.alternates, newObjectDir(path, s.main.reading))
	}
}

// failpoints is the hook of [Options].Failpoint. A nil hook does nothing.
type failpoints func(name string) error

// at calls the hook with name, the name of a failpoint. If the hook returns an error, at adds the name to it.
func (f failpoints) at(name string) error {
	if f == nil {
		return nil
	}
	if err := f(name); err != nil {
		return fmt.Errorf("at %s: %w", name, err)
	}
	return nil
}

// stopped returns nil until ctx ends. After that it returns the error of ctx, with work as a prefix. work names
// the stopped work, for example "write pack".
func stopped(ctx context.Context, work string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", work, err)
	}
	return nil
}
