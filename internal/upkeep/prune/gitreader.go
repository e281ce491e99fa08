package prune

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// gitReader runs git commands that read refs and objects.
type gitReader struct {
	repo gitexec.Repo // the store's repository
	env  []string     // the environment that git runs under
}

// userRefs are git rev-list options for the user's refs and the HEADs of all worktrees. They leave out the
// refs of git-smithers.
var userRefs = []string{"--exclude=refs/smithers/*", "--exclude=refs/smithers-remote/*", "--all"}

// userRoots are git rev-list options for userRefs and for the reflogs and indexes of all worktrees.
var userRoots = append(append([]string{}, userRefs...), "--reflog", "--indexed-objects")

// evenMissing is the git rev-list option that skips missing objects. Without this option, a missing object is
// an error.
const evenMissing = "--missing=allow-any"

// walk calls the function each with the id and the path of every object that roots and the git rev-list options
// reach. path is "" if the object has no path. The objects that the ids in except reach are not needed: walk
// leaves out many of them, but not all. In a partial clone, walk leaves out the objects that came from a promisor
// remote, unless options include evenMissing.
func (g *gitReader) walk(ctx context.Context, roots, except []objstore.ID, options []string, each func(id objstore.ID, path string)) error {
	args := []string{"--no-replace-objects", "rev-list", "--objects"}
	// In a partial clone, git would otherwise fetch missing objects.
	if g.repo.Config.IsPartial() && !slices.Contains(options, evenMissing) {
		args = append(args, "--exclude-promisor-objects")
	}
	args = append(append(args, "--stdin"), options...)
	return g.lines(ctx, io.MultiReader(idLines("", roots), idLines("^", except)), args, func(line string) error {
		digits, path, _ := strings.Cut(line, " ")
		id, err := objstore.ParseID(digits)
		if err == nil {
			each(id, path)
		}
		return err
	})
}

// sizes calls the function each with the id and the size on disk, in bytes, of every object in ids. It skips
// missing objects.
func (g *gitReader) sizes(ctx context.Context, ids []objstore.ID, each func(id objstore.ID, size int64)) error {
	args := []string{"--no-replace-objects", "cat-file", "--batch-check=%(objectname) %(objectsize:disk)"}
	return g.lines(ctx, idLines("", ids), args, func(line string) error {
		var digits string
		var size int64
		if strings.HasSuffix(line, " missing") {
			return nil
		}
		if _, err := fmt.Sscan(line, &digits, &size); err != nil {
			return fmt.Errorf("git cat-file: unexpected answer %q: %w", line, err)
		}
		id, err := objstore.ParseID(digits)
		if err == nil {
			each(id, size)
		}
		return err
	})
}

// ourRefs returns all refs of git-smithers, including the tracking refs of remotes. A broken ref is an error,
// because its objects are unknown and might be deleted.
func (g *gitReader) ourRefs(ctx context.Context) ([]refs.Ref, error) {
	var list []refs.Ref
	args := []string{"for-each-ref", "--format=%(objectname) %(refname)", refs.Folder, refs.RemotesFolder}
	err := g.lines(ctx, nil, args, func(line string) error {
		digits, name, _ := strings.Cut(line, " ")
		id, err := objstore.ParseID(digits)
		list = append(list, refs.Ref{Name: refs.Name(name), ID: id})
		return err
	})
	return list, err
}

// run runs git with args in the repository, and returns its standard output.
func (g *gitReader) run(ctx context.Context, args ...string) (string, error) {
	out, err := gitexec.New(g.repo, g.env).Run(ctx, args...)
	return string(out), err
}

// lines runs git with args, and calls the function each with every line of git's standard output. If each returns an
// error, lines does not call it again and returns this error. A warning of git about a broken ref is an error, because
// git leaves such a ref out. If ctx ends, lines returns the cause.
func (g *gitReader) lines(ctx context.Context, stdin io.Reader, args []string, each func(line string) error) error {
	said, err := gitexec.New(g.repo, g.env).Read(ctx, stdin, args, func(out io.Reader) error {
		scanner := bufio.NewScanner(out)
		// A line may have a path that is longer than the scanner's default limit.
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			if err := each(scanner.Text()); err != nil {
				return err
			}
		}
		return scanner.Err()
	})
	if err == nil && strings.Contains(said, "broken ref") {
		return gitexec.NewError(args, nil, said, errIncomplete)
	}
	return err
}

// errIncomplete means that git succeeded but left out a broken ref.
var errIncomplete = errors.New("git left out a broken ref")

// idLines returns a reader of text with one line for each id. Each line is prefix, followed by the id.
func idLines(prefix string, ids []objstore.ID) io.Reader {
	var b bytes.Buffer
	for _, id := range ids {
		b.WriteString(prefix + id.String() + "\n")
	}
	return &b
}
