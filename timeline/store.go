package timeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/internal/snapshot/rendered"
	"github.com/git-smithers/git-smithers/internal/vault"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	// PrivateDir is the name of the store's folder in the repository's common directory.
	PrivateDir = "smithers"
	// renderedFrames is the number of reconstructed rendered frames that a store caches.
	renderedFrames = 512
)

// Options name the repository to open and the parts of the process that the store may use.
type Options struct {
	Dir  string           // a folder in the repository
	Env  []string         // the environment that git runs under, in the form of os.Environ
	Now  func() time.Time // the clock that dates entries; required, and safe for concurrent use
	Warn func(error)      // receives errors that do not harm stored history; nil drops such errors
	// Session means that the caller is a hook of a coding agent: smithers.session.durability says how safe its writes are.
	Session bool
	// LateNames means that writes outlive the process, but not always a power cut: the newest writes can then be missing. The
	// others are whole.
	LateNames bool
	// TrustFiles has the ids of runs whose files git may run and obey, although this clone has not recorded them.
	TrustFiles []string
	// UpkeepEvery is the number of writes after which a round of upkeep starts at the next rest; 0 means the default. A process that writes often and
	// lives long merges less with a larger number.
	UpkeepEvery int
	// Failpoint is called at named points of a write. If Failpoint returns an error, the write stops at that point. Only
	// tests of crashes set Failpoint.
	Failpoint func(name string) error
	// FS is the file system for objects and refs; nil means the operating system's. Only tests of failed writes and power
	// cuts set FS.
	FS fsx.FS
}

// Store is the run history of one repository. A Store is safe for concurrent use.
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
	finder    func() (*redact.Finder, error) // made at the first call
	place     func() string                  // the same: see placeOf
	vault     *vault.Vault
	later     *laterFrames
	loans     func() // see NoteLoans

	told    sync.Map // the texts of the warnings that WarnOnce has given
	index   heldIndex
	appends *Durations // nil if nobody counts them
	trusts  []string   // Options.TrustFiles
}

// Open opens the run history of the repository that contains opts.Dir. If no repository contains opts.Dir, it opens the
// store that InitBare made in opts.Dir or the nearest folder above. If other processes have acknowledged entries that no
// ref reaches yet, Open moves the refs. Otherwise it writes nothing and reads no history. The caller closes the store. Codes: no_repository; unsupported_repository if the repository's object or ref format is
// unsupported; usage if a setting is invalid.
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
	if wrong := set.Session.wrong; wrong != nil {
		if !opts.Session {
			return nil, wrong
		}
		if opts.Warn != nil { // a hook goes on recording
			opts.Warn(wrong)
		}
	}
	private := filepath.Join(repo.CommonDir, PrivateDir)
	policy := objstore.Relaxed
	if set.Fsync {
		policy = objstore.Durable
	}
	objects, err := objstore.Open(objstore.Options{
		Hash:       objstore.AlgorithmOf(repo.ObjectFormat),
		ObjectsDir: filepath.Join(repo.CommonDir, "objects"),
		TempDir:    filepath.Join(private, "tmp"),
		Fsync:      policy,
		Failpoint:  opts.Failpoint,
		FS:         opts.FS,
	})
	if err != nil {
		return nil, Explain(err)
	}
	late := opts.LateNames || opts.Session && !set.Session.Durable
	db, err := refs.Open(refs.Options{Repo: repo, Fsync: set.Fsync, LateNames: late, Env: opts.Env, Failpoint: opts.Failpoint, FS: opts.FS})
	if err != nil {
		return nil, Explain(errors.Join(err, objects.Close()))
	}
	s := &Store{
		repo: repo, workspace: workspace, env: opts.Env, settings: set, objects: objects, refs: db,
		frames: snapshot.NewFrameCache(renderedFrames),
		now:    opts.Now, warn: opts.Warn, trusts: opts.TrustFiles,
	}
	if s.warn == nil {
		s.warn = func(error) {}
	}
	s.upkeep = newUpkeep(s, opts.UpkeepEvery)
	s.finder = sync.OnceValues(func() (*redact.Finder, error) { return secretSources{workspace, set, opts.Env}.finder() })
	s.place = sync.OnceValue(func() string { return placeOf(private) })
	s.loans = sync.OnceFunc(func() { noteLoans(filepath.Join(repo.CommonDir, "objects")) })
	s.vault = newVault(repo, set, s.finder)
	s.later = &laterFrames{store: s}
	_ = db.FreeTables(ctx) // in a repository that can only be read, the lock stops nobody
	if tidied, err := worktrees.Tidy(ctx, workspace); err != nil {
		s.warn(fmt.Errorf("a worktree that a killed process has left half-made was not removed: %w", err))
	} else if tidied != "" {
		s.warn(fmt.Errorf("a killed process had left the worktree %s half-made: it was removed", tidied))
	}
	return s, nil
}

// Close waits for background work and releases the parts of the store. If the store has written anything, Close
// first runs a last round of upkeep and, after many writes, brings the index up to date. An error of upkeep or of the
// index is a warning, since upkeep can run later and the index can be rebuilt.
func (s *Store) Close() error {
	s.later.finish()
	s.upkeep.finish()
	return Explain(errors.Join(s.index.close(), s.refs.Close(), s.objects.Close()))
}

// Private returns the path of the folder for the store's own files. These files are not part of the history.
func (s *Store) Private() string { return filepath.Join(s.repo.CommonDir, PrivateDir) }

// InPlace returns the path of a file or folder in the private folder that acts on behalf of the user, such as a permission. The name carries
// the fsx.Mark of the private folder, so a copy of the repository has none of the original's.
func (s *Store) InPlace(name string) string {
	return filepath.Join(s.Private(), filepath.FromSlash(name)) + "-" + s.place()
}

// placeOf returns a digest of the fsx.Mark of a private folder, and makes the folder if it is missing.
func placeOf(private string) string {
	_ = os.MkdirAll(private, 0o777) //nolint:gosec // the umask decides who may read the repository; a later write reports an error
	sum := sha256.Sum256([]byte(fsx.Mark(private)))
	return hex.EncodeToString(sum[:8])
}

// Rendered returns the rendered workflow tree of an entry as canonical JSON. The result is the JSON value null
// if the entry has no tree.
func (s *Store) Rendered(entry *snapshot.Entry) (json.RawMessage, error) {
	tree, err := s.frames.Rendered(s.objects, entry)
	return tree, Explain(err)
}

// RenderedCounts returns how many rendered trees this store has read and stored.
func (s *Store) RenderedCounts() rendered.Counts { return s.frames.Counts() }

// discover returns the working copy and repository of dir. If dir is in no repository, discover returns the store
// for run history alone in dir or the nearest folder above (see findBareStore). Codes: no_repository;
// unsupported_repository if the installed git or this version of git-smithers cannot read the repository.
func discover(ctx context.Context, dir string, env []string) (*jjbridge.Workspace, error) {
	found, err := jjbridge.Locate(ctx, dir, env)
	if errors.Is(err, gitexec.ErrNoRepository) {
		store, ok := findBareStore(dir)
		if !ok {
			return nil, noRepository(err, dir)
		}
		found, err = jjbridge.Locate(ctx, store, env)
	}
	if unknown, ok := errors.AsType[*gitexec.Error](err); ok && errors.Is(err, gitexec.ErrUnknownFormat) {
		return nil, fault.New(fault.UnsupportedFormat, "the installed git does not know this repository's format: %s",
			strings.Join(strings.Fields(unknown.Stderr), " ")).
			Hint("install a newer git; reftables need 2.45")
	}
	// A missing jj store is also fs.ErrNotExist, but Explain has a better hint for ErrNoStore.
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, jjbridge.ErrNoStore) {
		return nil, fault.New(fault.NoRepository, "the current folder was removed: %w", err)
	}
	if err != nil {
		return nil, Explain(err)
	}
	return found, supported(found)
}

// supported returns unsupported_repository if this program cannot read or write the repository of a working copy.
func supported(w *jjbridge.Workspace) error {
	repo := w.Repo
	switch {
	case repo.ObjectFormat != "sha1" && repo.ObjectFormat != "sha256":
		return fault.New(fault.UnsupportedFormat, "this repository keeps %s objects; this version reads sha1 or sha256 objects", repo.ObjectFormat).
			Hint("keep run history in a repository without extensions.compatObjectFormat")
	case repo.RefFormat != "files" && repo.RefFormat != refs.TablesFolder:
		return fault.New(fault.UnsupportedFormat, "the refs of this repository lie in %s; this version reads refs in the repository's own files or reftable", repo.RefFormat).
			Hint("keep run history in a repository whose refs lie in its own folder")
	case unknownExtension(repo.Config) != "":
		return fault.New(fault.UnsupportedFormat, "this repository has %s, which this version does not know", unknownExtension(repo.Config)).
			Hint("install a newer git-smithers")
	case repo.RefFormat != "files" && w.Type == snapshot.VCSJJ:
		return fault.New(fault.UnsupportedFormat, "jj does not read refs in a reftable: it shows an empty history there, and its own refs get lost").
			Hint("use the repository with git alone: move the folder .jj away").
			Hint("or move the refs to files while nothing else uses the repository: `rm -r .git/refs/jj`, then `git refs migrate --ref-format=files`")
	}
	return nil
}

// extensions are the extensions of repositories that this program respects, or that do not concern it.
var extensions = []string{
	"noop", "noop-v1", "objectformat", "partialclone", "preciousobjects", "refstorage", "relativeworktrees", "submodulepathconfig", "worktreeconfig",
}

// unknownExtension returns the first extension in a repository's configuration that is not in extensions, or "". In a repository of
// format 0, extensions mean nothing.
func unknownExtension(config gitexec.Config) string {
	if version, _ := config.Get("core.repositoryformatversion"); version == "" || version == "0" {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if name, ok := strings.CutPrefix(key, "extensions."); ok && !slices.Contains(extensions, name) {
			return key
		}
	}
	return ""
}

// noRepository returns no_repository with the words of git, and hints that say how to make a repository. err is
// the error that no repository was found for the folder dir. If err contains no error of git, noRepository returns Explain(err).
func noRepository(err error, dir string) error {
	git, ok := errors.AsType[*gitexec.Error](err)
	if !ok {
		return Explain(err)
	}
	if left, _ := filepath.Glob(filepath.Join(fsx.GlobQuote(dir), ".git", "ref_migration.*")); len(left) > 0 {
		return explainGit(fault.NoRepository, git).
			Hint("`git refs migrate` failed half-way: the refs are in %s, and `git smithers help limitations` says how they come back", left[0])
	}
	return explainGit(fault.NoRepository, git).
		Hint("run `git init` to make a repository").
		Hint("or run `git smithers init` to keep run history without a repository")
}

// bareStore is the path of a store for run history alone, relative to the folder in which InitBare made the
// store.
const bareStore = ".smithers/store.git"

// findBareStore returns the path of the bareStore in dir or the nearest folder above. It returns false if these
// folders have no bareStore.
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

// InitBare makes a store for run history alone in dir, outside of any repository, and returns the store's path.
// If dir already has a store, InitBare changes nothing and returns the path of that store.
func InitBare(ctx context.Context, dir string, env []string) (string, error) {
	store := filepath.Join(dir, filepath.FromSlash(bareStore))
	if _, err := os.Stat(filepath.Join(store, "HEAD")); err == nil {
		return store, nil
	}
	if err := gitexec.InitBare(ctx, store, "sha1", env); err != nil {
		return "", Explain(err)
	}
	return store, nil
}
