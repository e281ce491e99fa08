package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// Bundle writes a git bundle to w: the named refs of this repository and all that they reach,
// without what exclude reaches. Each exclude is an object of this repository. Refs that
// exclude reaches are omitted; if none remains, that is an error. After an error, the
// output is not a valid bundle.
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

// bundleSignatures are the first lines of valid bundles.
var bundleSignatures = []string{"# v2 git bundle\n", "# v3 git bundle\n"}

// takeBundle stores the objects of the bundle at path. It does nothing if path is not a bundle.
func (t *Transport) takeBundle(ctx context.Context, path, remote string) error {
	if t.isConfigured(remote) {
		return nil
	}
	bundle := openBundle(path)
	if bundle == nil {
		return nil
	}
	err := t.takeObjects(ctx, bundle)
	return errors.Join(err, bundle.Close())
}

// openBundle opens a file if it is a bundle; otherwise it returns nil.
func openBundle(path string) *os.File {
	// git handles anything but a regular file, such as a URL or a folder.
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

// takeObjects stores the objects of a bundle, with the checks of a fetch, because an older
// git does not check them.
func (t *Transport) takeObjects(ctx context.Context, bundle io.Reader) error {
	r := bufio.NewReader(bundle)
	for line := ""; line != "\n"; {
		var err error
		if line, err = r.ReadString('\n'); err != nil {
			return fmt.Errorf("%w: its header is cut short: %w", ErrBundle, err)
		}
	}
	strict := "--strict"
	if exceptions := t.fsckExceptions(); len(exceptions) > 0 {
		strict += "=" + strings.Join(exceptions, ",")
	}
	process := t.process([]string{"index-pack", "--stdin", "--fix-thin", strict}, nil)
	process.Stdin = r
	_, _, err := process.Run(ctx)
	var failed *gitexec.Error
	var errno syscall.Errno
	if errors.As(err, &failed) && ctx.Err() == nil && !errors.As(err, &errno) {
		err = fmt.Errorf("%w: %w", ErrBundle, err)
	}
	return err
}

// fsckExceptions returns the user's fetch.fsck settings as options of git index-pack.
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
