package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// Bundle writes a git bundle to w. The bundle has the named refs of this repository and every object that the refs
// reach, except objects that a commit in exclude reaches. If a commit in exclude reaches the target of a ref, Bundle
// omits the ref. If no ref remains, Bundle returns an error. After an error, the output is not a valid bundle.
func (t *Transport) Bundle(ctx context.Context, w io.Writer, names []refs.Name, exclude []objstore.ID) error {
	quiet := "--quiet"
	if t.opts.Talk != nil {
		quiet = "--progress"
	}
	process := t.process([]string{"bundle", "create", quiet, "-", "--stdin"}, nil)
	var lines strings.Builder
	for _, name := range names {
		lines.WriteString(string(name) + "\n")
	}
	for _, id := range exclude {
		lines.WriteString("^" + id.String() + "\n")
	}
	process.Stdin, process.Stdout = strings.NewReader(lines.String()), w
	_, err := t.run(ctx, process)
	return err
}

// bundleSignatures holds the valid first lines of a bundle, which all have the same length.
var bundleSignatures = []string{"# v2 git bundle\n", "# v3 git bundle\n"}

// takeBundle stores the objects of the bundle at path in this repository. remote is the remote that was given to
// Fetch. takeBundle does nothing if remote is the name of a configured remote, or if the file at path is not a
// bundle. Until letGo is called, no git gc removes the objects.
func (t *Transport) takeBundle(ctx context.Context, path, remote string) (letGo func(), err error) {
	if t.isConfigured(remote) {
		return func() {}, nil
	}
	bundle := openBundle(path)
	if bundle == nil {
		return func() {}, nil
	}
	letGo, err = t.takeObjects(ctx, bundle)
	return letGo, errors.Join(err, bundle.Close())
}

// openBundle opens the file at path. It returns nil if the file cannot be opened or is not a bundle.
func openBundle(path string) *os.File {
	// Leave everything except a regular file, such as a URL or a folder, to git.
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	first := make([]byte, len(bundleSignatures[0]))
	if _, err = io.ReadFull(f, first); err == nil && slices.Contains(bundleSignatures, string(first)) {
		return f
	}
	_ = f.Close()
	return nil
}

// takeObjects stores the objects of a bundle in this repository. It checks the objects as a fetch does,
// because older versions of git do not. Until letGo is called, which is never nil, the pack has a .keep file. If the bundle is damaged or
// incomplete, the error wraps ErrBundle.
func (t *Transport) takeObjects(ctx context.Context, bundle io.Reader) (letGo func(), err error) {
	letGo = func() {}
	r := bufio.NewReader(bundle)
	// The header ends with an empty line.
	format := "sha1"
	for line := ""; line != "\n"; {
		var err error
		if line, err = r.ReadString('\n'); err != nil {
			return letGo, fmt.Errorf("%w: the header is cut short: %w", ErrBundle, err)
		}
		if value, ok := strings.CutPrefix(line, "@object-format="); ok {
			format = strings.TrimSuffix(value, "\n")
		}
	}
	if format != t.opts.Repo.ObjectFormat {
		return letGo, t.otherHash(nil)
	}
	strict := "--strict"
	if exceptions := t.fsckExceptions(); len(exceptions) > 0 {
		strict += "=" + strings.Join(exceptions, ",")
	}
	process := t.process([]string{"index-pack", "--stdin", "--fix-thin", "--keep=" + objstore.KeepMessage, strict}, nil)
	process.Stdin = r
	said, _, err := process.Run(ctx)
	if name, made := strings.CutPrefix(strings.TrimSpace(string(said)), "keep\t"); made {
		letGo = func() {
			_ = os.Remove(filepath.Join(t.opts.Repo.CommonDir, "objects", "pack", "pack-"+name+".keep")) // a merge removes one that stays
		}
	}
	var failed *gitexec.Error
	var errno syscall.Errno
	// An error of the system, such as a full disk, does not mean that the bundle is invalid.
	if errors.As(err, &failed) && ctx.Err() == nil && !errors.As(err, &errno) {
		err = fmt.Errorf("%w: %w", ErrBundle, err)
	}
	return letGo, err
}

// fsckExceptions returns the user's fetch.fsck settings as options for git index-pack --strict, sorted.
func (t *Transport) fsckExceptions() []string {
	var exceptions []string
	for key, values := range t.opts.Repo.Config {
		if name, ok := strings.CutPrefix(key, "fetch.fsck."); ok && len(values) > 0 {
			exceptions = append(exceptions, name+"="+values[len(values)-1])
		}
	}
	slices.Sort(exceptions)
	return exceptions
}
