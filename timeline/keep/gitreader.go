package keep

import (
	"bufio"
	"bytes"
	"cmp"
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

// gitReader asks git about refs and objects.
type gitReader struct {
	repo gitexec.Repo // with what was added to its configuration since the Keeper was made
	env  []string
}

// userRefs are git rev-list options for everything of the user's that keeps objects: refs and HEADs of
// all worktrees.
var userRefs = []string{"--exclude=refs/smithers/*", "--exclude=refs/smithers-remote/*", "--all"}

// userRoots are userRefs, and the reflogs and indexes of all worktrees.
var userRoots = append(append([]string{}, userRefs...), "--reflog", "--indexed-objects")

// evenMissing is the option to continue after a missing object.
const evenMissing = "--missing=allow-any"

// walk calls each with the id and path of all objects that roots and options reach. It leaves out
// many of the objects that except reaches, but not all.
func (g *gitReader) walk(ctx context.Context, roots, except []objstore.ID, options []string, each func(id objstore.ID, path string)) error {
	args := []string{"--no-replace-objects", "rev-list", "--objects"}
	// A partial clone must not fetch anything for this.
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

// sizes calls each with the size on disk of each existing object.
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

// ourRefs lists all refs of ours. A broken ref is an error, because it may keep any objects.
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

// run runs git on the repository and returns its output.
func (g *gitReader) run(ctx context.Context, args ...string) (string, error) {
	out, err := gitexec.New(g.repo, g.env).Run(ctx, args...)
	return string(out), err
}

// lines runs git and calls each with every line of its output. A message on stderr is an error, because git
// prints one when it leaves something out.
func (g *gitReader) lines(ctx context.Context, stdin io.Reader, args []string, each func(line string) error) (err error) {
	cmd, err := gitexec.New(g.repo, g.env).Command(ctx, args...)
	if err != nil {
		return &gitexec.Error{Args: args, Status: -1, Err: err}
	}
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = stdin, &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return &gitexec.Error{Args: args, Status: -1, Err: err}
	}
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 1<<20)
	var failed error
	for failed == nil && scanner.Scan() {
		failed = each(scanner.Text())
	}
	failed = errors.Join(failed, scanner.Err())
	if failed != nil {
		_, _ = io.Copy(io.Discard, out) // drain it so that git ends
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil || strings.Contains(said.String(), "broken ref"):
		return gitexec.NewError(args, cmd.ProcessState, said.String(), cmp.Or(err, errIncomplete))
	}
	return failed
}

// errIncomplete means that git succeeded with warnings.
var errIncomplete = errors.New("it left something out")

// idLines returns a line for each id, after a prefix.
func idLines(prefix string, ids []objstore.ID) io.Reader {
	var b bytes.Buffer
	for _, id := range ids {
		b.WriteString(prefix + id.String() + "\n")
	}
	return &b
}
