package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// closed is a file or folder that a command must not change although it lies where the command may write, because programs outside of the
// sandbox obey it: git runs it, or reads it as configuration.
type closed struct{ path, why string }

// role is what git does with a path.
type role int

const (
	itself  role = iota // the path alone is obeyed
	config              // a file of configuration
	program             // a file that is run, and may use the files beside it
	hooks               // a folder of programs, which may use the files beside it
)

// finder finds what git and jj obey in the folders that a command may write.
type finder struct {
	env   []string
	home  string
	roots []string // the folders, and single files
	found []closed
	looks bool  // nothing is closed: no folder is made
	err   error // the first; nothing is done after it

	included []string // the files of configuration that settings has read
	linked   []string // the folders whose links are closed
}

// obeyed returns what git and jj obey in roots: repositories, and what the configuration of these, of the repositories around them and of
// the user names. The result is sorted, and no path lies in another. The error is an *Error if something cannot be kept from the command.
func (at *Place) obeyed(ctx context.Context, roots, env []string) ([]closed, error) {
	f := &finder{env: gitexec.PlumbingEnv(env), home: at.Home, roots: roots}
	f.environment(at.Dir)
	for _, folder := range at.Internals {
		f.links(folder, dataFolders)
	}
	if len(at.Internals) > 0 {
		f.configured(ctx, at.Dir, at.Internals[0])
	}
	for _, root := range roots {
		for top := root; top != filepath.Dir(top); {
			top = filepath.Dir(top)
			if internals := filepath.Join(top, ".git"); exists(internals) {
				f.repository(ctx, internals)
				break
			}
		}
		f.walk(ctx, root)
	}
	if f.err == nil {
		f.err = ctx.Err()
	}
	slices.SortStableFunc(f.found, func(a, b closed) int { return strings.Compare(a.path, b.path) })
	var out []closed
	for _, c := range f.found {
		if !slices.ContainsFunc(out, func(o closed) bool { return within(o.path, c.path) }) {
			out = append(out, c)
		}
	}
	return out, f.err
}

// exists reports whether there is a file, or one cannot look whether there is.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || errors.Is(err, fs.ErrPermission)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// walk closes the repositories in a folder, and the folders that cannot be read or searched: a command could change that, and then what is in them.
func (f *finder) walk(ctx context.Context, root string) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case f.err != nil || ctx.Err() != nil:
			return fs.SkipAll
		case errors.Is(err, fs.ErrNotExist): // it has just gone
			return nil
		case err != nil || isShut(d):
			f.close(path, itself, "a folder that cannot be read")
			return fs.SkipDir
		case d.Name() == ".git" || d.Name() == ".jj":
			f.repository(ctx, path)
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Name() == "HEAD" && isFolder(filepath.Join(path, "../objects")) && isFolder(filepath.Join(path, "../refs")):
			f.repository(ctx, filepath.Dir(path))
			return fs.SkipDir
		}
		return nil
	})
}

// isShut reports whether the owner of a folder may not read or search it.
func isShut(d fs.DirEntry) bool {
	if !d.IsDir() {
		return false
	}
	info, err := d.Info()
	return err == nil && info.Mode()&0o500 != 0o500
}

// repository closes a repository and what it obeys. internals is its .git or .jj, or a bare repository.
func (f *finder) repository(ctx context.Context, internals string) {
	const why = "a repository"
	f.close(internals, itself, why)
	if filepath.Base(internals) == ".jj" {
		f.jj(ctx, filepath.Dir(internals))
		return
	}
	dir := internals // or the folder that a file .git names
	text, err := os.ReadFile(internals)
	if errors.Is(err, fs.ErrPermission) {
		f.err = cannot("%s cannot be read, so it is not known which repository it names", internals)
	}
	if err == nil {
		dir = joined(filepath.Dir(internals), strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir:")))
	}
	dirs := []string{dir}
	if text, err := os.ReadFile(filepath.Join(dir, "commondir")); err == nil {
		dirs = append(dirs, joined(dir, strings.TrimSpace(string(text))))
	}
	for _, dir := range dirs {
		f.close(dir, itself, why)
		f.links(dir, dataFolders)
	}
	f.configured(ctx, filepath.Dir(internals), dir)
	f.modules(ctx, filepath.Dir(internals), dir)
}

// modules closes the submodules that are not checked out: git asks a repository that stands there for its state, whoever has made it.
func (f *finder) modules(ctx context.Context, top, gitDir string) {
	git := gitexec.Process{Dir: top, Env: f.env, Options: []string{"--git-dir=" + gitDir}, Args: []string{"ls-files", "-z", "--stage"}}
	out, _, _ := git.Run(ctx) // without an index, or with a broken one, git knows no submodule
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if mode, path, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(mode, "160000 ") && !exists(filepath.Join(top, path, ".git")) {
			f.close(filepath.Join(top, path), itself, "a submodule")
		}
	}
}

// joined returns a path that is named in a folder. It keeps each "..", because links stand before some.
func joined(folder, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return folder + string(filepath.Separator) + path
}

// dataFolders are the folders in a git directory that can have many files and obey nothing.
var dataFolders = []string{"objects", "refs", "logs", "lfs", "annex", "smithers"}

// links closes what the links in a folder lead to, such as single hooks. It does not look into folders with a name of skip.
func (f *finder) links(folder string, skip []string) {
	if slices.Contains(f.linked, folder) {
		return
	}
	f.linked = append(f.linked, folder)
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case f.err != nil:
			return fs.SkipAll
		case err != nil:
			return nil //nolint:nilerr // it is closed, and git cannot read it either
		case d.IsDir() && slices.Contains(skip, d.Name()):
			return fs.SkipDir
		case d.Type()&fs.ModeSymlink == 0:
		case isFolder(path):
			f.close(path, hooks, "a link in "+filepath.Base(folder))
		default:
			f.close(path, program, "a link in "+filepath.Base(folder))
		}
		return nil
	})
}

// maxLinks is how many links Linux follows in a path.
const maxLinks = 40

// close notes that the command must not change what is at path, if that lies in one of the roots.
func (f *finder) close(path string, as role, why string) {
	for range maxLinks {
		link, target := firstLink(path)
		if link == "" {
			break
		}
		if f.holds(link) {
			f.add(filepath.Dir(link), why) // otherwise the command could put another link there
		}
		path = target
	}
	path = filepath.Clean(path)
	folder := filepath.Dir(path)
	switch {
	case f.err != nil || !f.holds(path):
		return
	case (as == program || as == hooks) && f.holds(folder) && !slices.Contains(f.roots, folder):
		path = folder
	case as == config && !exists(path) && !slices.Contains(f.roots, folder):
		path = folder
	case as == config && !exists(path):
		f.err = cannot("%s names %s, which does not exist, and which a command in a sandbox could make: make an empty file there", why, filepath.Base(path))
		return
	}
	if !f.looks && !exists(path) { // an empty folder, which git does not see, stands where the command could put something
		if err := os.MkdirAll(path, 0o777); err != nil { //nolint:gosec // the umask decides
			f.err = cannot("%s names %s, which cannot be kept from the command", why, filepath.Base(path))
		}
	}
	f.add(path, why)
	if as == hooks && f.err == nil {
		f.links(path, nil)
	}
}

// holds reports whether the command may write path.
func (f *finder) holds(path string) bool {
	return slices.ContainsFunc(f.roots, func(root string) bool { return within(root, path) })
}

// add notes that a path of a root is closed. A root itself cannot be.
func (f *finder) add(path, why string) {
	if slices.Contains(f.roots, path) && f.err == nil {
		f.err = cannot("%s leads to %s, or through a link there: the command may write that, so it cannot be kept from it", why, filepath.Base(path))
	}
	f.found = append(f.found, closed{path, why})
}

// firstLink returns the first symbolic link in an absolute path, and the path with the target of the link in its place. Both are "" if the path has no link.
func firstLink(path string) (link, target string) {
	at := string(filepath.Separator)
	for name, rest, more := strings.Cut(path, at); ; name, rest, more = strings.Cut(rest, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		if to, err := os.Readlink(at); err == nil {
			return at, joined(filepath.Dir(at), to) + string(filepath.Separator) + rest
		}
		if !more {
			return "", ""
		}
	}
}
