package timeline

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	// PrivateDir is the store's folder in the repository's common directory.
	PrivateDir = "smithers"
	// renderedFrames is how many reconstructed frames a store keeps.
	renderedFrames = 512
)

// Options name the repository to open and the parts of the process that the store may use.
type Options struct {
	Dir  string           // the folder from which to look for the repository
	Env  []string         // the environment that git runs under, in the form of os.Environ
	Now  func() time.Time // the clock that dates entries; required, and safe for concurrent use
	Warn func(error)      // gets errors that do not harm stored history; nil drops them
	// Failpoint is called at named points of a write. If it returns an error, the write stops there. It is for tests of
	// crashes, and nil in production.
	Failpoint func(name string) error
	// FS is the file system for objects and refs. It is for tests of failed writes and power cuts, and nil in production.
	FS fsx.FS
}

// Store is the run history of one repository. Safe for concurrent use.
type Store struct {
	repo      gitexec.Repo
	workspace *jjbridge.Workspace
	env       []string
	settings  Settings
	objects   *objstore.Store
	refs      *refs.DB
	frames    *snapshot.FrameCache
	now       func() time.Time
	warn      func(error)
	upkeep    *upkeep

	told  sync.Map // the texts of the warnings that WarnOnce has given
	index heldIndex
}

// Open finds the repository and opens its history. It writes nothing and reads
// no history. The caller closes the store.
func Open(ctx context.Context, opts Options) (*Store, error) {
	workspace, err := discover(ctx, opts.Dir, opts.Env)
	if err != nil {
		return nil, err
	}
	repo := workspace.Repo
	set, err := readSettings(repo.Config, opts.Env)
	if err != nil {
		return nil, err
	}
	private := filepath.Join(repo.CommonDir, PrivateDir)
	policy := objstore.Relaxed
	if set.Fsync {
		policy = objstore.Durable
	}
	objects, err := objstore.Open(objstore.Options{
		ObjectsDir: filepath.Join(repo.CommonDir, "objects"),
		TempDir:    filepath.Join(private, "tmp"),
		Fsync:      policy,
		Failpoint:  opts.Failpoint,
		FS:         opts.FS,
	})
	if err != nil {
		return nil, Explain(err)
	}
	db, err := refs.Open(refs.Options{
		Repo: repo, Fsync: set.Fsync, Env: opts.Env, Failpoint: opts.Failpoint, FS: opts.FS,
	})
	if err != nil {
		return nil, Explain(errors.Join(err, objects.Close()))
	}
	s := &Store{
		repo: repo, workspace: workspace, env: opts.Env, settings: set, objects: objects, refs: db,
		frames: snapshot.NewFrameCache(renderedFrames),
		now:    opts.Now, warn: opts.Warn,
	}
	if s.warn == nil {
		s.warn = func(error) {}
	}
	s.upkeep = newUpkeep(s)
	return s, nil
}

// Close waits for background work, brings the index up to date with the writes of this store, and releases everything.
// An error of the index update is a warning, since the index can be rebuilt at any time.
func (s *Store) Close() error {
	s.upkeep.finish()
	return Explain(errors.Join(s.index.close(), s.refs.Close(), s.objects.Close()))
}

// Private returns the folder of the store's own files, which are not part of the history.
func (s *Store) Private() string { return filepath.Join(s.repo.CommonDir, PrivateDir) }

// Rendered returns the rendered workflow tree of an entry as canonical JSON, or "null" if the entry has no tree.
func (s *Store) Rendered(entry *snapshot.Entry) (json.RawMessage, error) {
	tree, err := s.frames.Rendered(s.objects, entry)
	return tree, Explain(err)
}

// discover finds the working copy and repository of dir, or the store that `git smithers init` made outside of any
// repository.
func discover(ctx context.Context, dir string, env []string) (*jjbridge.Workspace, error) {
	found, err := jjbridge.Locate(ctx, dir, env)
	if errors.Is(err, gitexec.ErrNoRepository) {
		store, ok := findBareStore(dir)
		if !ok {
			return nil, noRepository(err)
		}
		found, err = jjbridge.Locate(ctx, store, env)
	}
	if unknown, ok := errors.AsType[*gitexec.Error](err); ok && errors.Is(err, gitexec.ErrUnknownFormat) {
		return nil, fault.New(fault.UnsupportedFormat, "the installed git does not know this repository's format: %s",
			strings.Join(strings.Fields(unknown.Stderr), " ")).
			Hint("run history needs a repository with sha1 objects and refs in files")
	}
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, jjbridge.ErrNoStore) {
		return nil, fault.New(fault.NoRepository, "the current folder is gone: %w", err)
	}
	if err != nil {
		return nil, Explain(err)
	}
	if repo := found.Repo; repo.ObjectFormat != "sha1" || repo.RefFormat != "files" {
		return nil, fault.New(fault.UnsupportedFormat,
			"this repository keeps %s objects and %s refs; this version reads sha1 objects and refs in files",
			repo.ObjectFormat, repo.RefFormat).
			Hint("keep run history in a repository made by `git init --object-format=sha1 --ref-format=files`")
	}
	return found, nil
}

// noRepository explains that git found no repository.
func noRepository(err error) error {
	git, ok := errors.AsType[*gitexec.Error](err)
	if !ok {
		return Explain(err)
	}
	return explainGit(fault.NoRepository, git).
		Hint("run `git init`, or `git smithers init` to keep run history alone")
}

// bareStore is the path of a store for run history alone, outside of any repository.
const bareStore = ".smithers/store.git"

// findBareStore looks for a bareStore in dir and the folders above it.
func findBareStore(dir string) (string, bool) {
	for {
		store := filepath.Join(dir, filepath.FromSlash(bareStore))
		if _, err := os.Stat(filepath.Join(store, "HEAD")); err == nil {
			return store, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// InitBare makes a store for run history alone in dir, outside of any repository, and returns its path. If dir has a
// store already, InitBare changes nothing.
func InitBare(ctx context.Context, dir string, env []string) (string, error) {
	store := filepath.Join(dir, filepath.FromSlash(bareStore))
	if _, err := os.Stat(filepath.Join(store, "HEAD")); err == nil {
		return store, nil
	}
	if err := gitexec.InitBare(ctx, store, env); err != nil {
		return "", Explain(err)
	}
	return store, nil
}
