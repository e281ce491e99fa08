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

// Bundle writes a git bundle of the named refs of this repository and all they reach, but
// for what exclude reaches, to w. Each exclude is an object that is here. A ref that
// exclude reaches is left out; where that leaves none, it is an error. With an error, what
// was written is no bundle.
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

// bundleSignatures are the first lines of bundles that git reads.
var bundleSignatures = []string{"# v2 git bundle\n", "# v3 git bundle\n"}

// takeBundle brings the objects of a remote that is a bundle at path. It does nothing
// where it is none.
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
	// What is no file, such as a URL or a folder, is for git to judge.
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

// takeObjects brings the objects of a bundle, checked as those of a fetch are. An older
// git does not check them when it fetches from a bundle.
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

// fsckExceptions are the user's fetch.fsck settings as git index-pack takes them.
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
