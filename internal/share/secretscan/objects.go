package secretscan

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
)

// object is an object that a push would send, with a path at which a tree has it. path is "" for commits and root trees.
type object struct {
	id   objstore.ID
	path string
}

// lacking returns the objects that the runs reach and the receiver lacks, without those that are remembered as clean.
func (j *scan) lacking(ctx context.Context) ([]object, error) {
	var ask bytes.Buffer
	wanted := slices.Clone(j.req.Also)
	for _, run := range j.req.Runs {
		wanted = append(wanted, run.Tip)
	}
	for _, id := range wanted {
		const most = 1 << 20
		if _, _, err := objstore.GetAtMost(j.store.Objects(), id, most); errors.Is(err, objstore.ErrNotFound) {
			return nil, err // git would ignore it, as it ignores what only the receiver has
		}
		ask.WriteString(id.String() + "\n")
	}
	for _, id := range slices.Concat(j.req.Have, j.req.Listed) {
		ask.WriteString("^" + id.String() + "\n")
	}
	args := []string{"--no-replace-objects", "rev-list", "--objects", "--ignore-missing", "--stdin"}
	if j.store.Repo().Config.IsPartial() {
		args = append(args, "--exclude-promisor-objects") // the remote has them
	}
	if j.req.Remote != "" {
		args = append(args, "--not", "--remotes="+globQuoted(j.req.Remote))
	}
	var out []object
	err := j.git(ctx, &ask, args, func(lines *bufio.Reader) error {
		for {
			line, err := lines.ReadString('\n')
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			digits, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			id, err := objstore.ParseID(digits)
			if err != nil {
				return err
			}
			if !j.clean.has(id) {
				out = append(out, object{id, path})
			}
		}
	})
	return out, err
}

// globQuoted returns a pattern of git that matches the name of a remote.
func globQuoted(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

// The kinds of objects, as git names them.
const (
	kindBlob   = "blob"
	kindTree   = "tree"
	kindCommit = "commit"
)

// contents calls take with the kind, the size in bytes and the content of each object, in order. take must read all of the content.
func (j *scan) contents(ctx context.Context, objects []object, take func(o object, kind string, size int64, content io.Reader) error) error {
	var ask bytes.Buffer
	for _, o := range objects {
		ask.WriteString(o.id.String() + "\n")
	}
	args := []string{"--no-replace-objects", "cat-file", "--batch", "--buffer"}
	return j.git(ctx, &ask, args, func(out *bufio.Reader) error {
		for _, o := range objects {
			line, err := out.ReadString('\n')
			if err != nil {
				return fmt.Errorf("git cat-file: %w", err)
			}
			parts := strings.Fields(line)
			if len(parts) == 2 && parts[1] == "missing" {
				return fmt.Errorf("%s: %w", o.id, objstore.ErrNotFound)
			}
			if len(parts) != 3 {
				return fmt.Errorf("git cat-file: unexpected answer %q", line)
			}
			size, err := strconv.ParseInt(parts[2], 10, 64)
			if err != nil {
				return fmt.Errorf("git cat-file: unexpected answer %q: %w", line, err)
			}
			if err := take(o, parts[1], size, io.LimitReader(out, size)); err != nil {
				return err
			}
			if _, err := out.Discard(1); err != nil { // the line end after the content
				return fmt.Errorf("git cat-file: %w", err)
			}
		}
		return nil
	})
}

// git runs git with args, and calls read with its output; see gitexec.Git.Read.
func (j *scan) git(ctx context.Context, stdin io.Reader, args []string, read func(*bufio.Reader) error) error {
	const buffer = 256 << 10
	_, err := gitexec.New(j.store.Repo(), j.store.Env()).Read(ctx, stdin, args, func(out io.Reader) error {
		return read(bufio.NewReaderSize(out, buffer))
	})
	return err
}
