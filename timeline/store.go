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

// Options say which repository to open and what the store may use of the world.
type Options struct {
	Dir  string           // where to look for the repository
	Env  []string         // the environment git runs under, as os.Environ gives it
	Now  func() time.Time // the clock that dates entries; required, and safe for concurrent use
	Warn func(error)      // told of what went wrong without harm to stored history; nil: dropped
	// Failpoint is called at named points of a write; an error it returns stops the
	// write there. For tests of what a crash leaves behind; nil in production.
	Failpoint func(name string) error
	// FS is what objects and refs are written to; nil in production. For tests that
	// have writes fail, and that cut the power.
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

	told  sync.Map // the warnings that were given once, by their text
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

// Close ends background work, brings the index up to date with what this store
// wrote, and releases everything. Trouble with the index is only a warning: it
// can be rebuilt at any time.
func (s *Store) Close() error {
	s.upkeep.finish()
	return Explain(errors.Join(s.index.close(), s.refs.Close(), s.objects.Close()))
}

// Private is the store's folder of things that are no history.
func (s *Store) Private() string { return filepath.Join(s.repo.CommonDir, PrivateDir) }

// Rendered is the rendered workflow tree of an entry: canonical JSON, "null" when
// there is none.
func (s *Store) Rendered(entry *snapshot.Entry) (json.RawMessage, error) {
	tree, err := s.frames.Rendered(s.objects, entry)
	return tree, Explain(err)
}

// discover finds the working copy and repository that dir is in, or the store that
// "init" made outside of any repository.
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
			Hint("it takes sha1 objects and refs in files to keep run history in")
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

// noRepository explains that git found none.
func noRepository(err error) error {
	git, ok := errors.AsType[*gitexec.Error](err)
	if !ok {
		return Explain(err)
	}
	return explainGit(fault.NoRepository, git).
		Hint("run `git init`, or `git smithers init` to keep run history alone")
}

// bareStore is where init keeps run history outside of any repository.
const bareStore = ".smithers/store.git"

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

// InitBare makes a store for run history alone in dir, outside of any repository,
// and returns its path. A store that is there already is left as it is.
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
