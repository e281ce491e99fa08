package jjbridge

import (
	"context"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
)

// contentAttributes returns the names of the attributes that decide how a checkout writes a stored file.
func contentAttributes() []string {
	return []string{"text", "crlf", "eol", "ident", "filter", "working-tree-encoding"}
}

// reattributed returns the files whose attributes may change because the edits have a .gitattributes file in the same
// folder or in a folder above. It leaves out the files of the edits, files that the user has changed, and files outside
// a sparse checkout. If the edits have no .gitattributes file, the result is nil.
func (g *filesGit) reattributed(ctx context.Context, edits []edit) ([]string, error) {
	args := []string{"ls-files", "-z", "-t", "--"}
	theirs := make(map[string]bool) // files of edits, and files that the user has changed
	for _, e := range edits {
		theirs[e.path] = true
		if path.Base(e.path) == ".gitattributes" {
			args = append(args, ":(top,literal)"+path.Dir(e.path))
		}
	}
	// No path was added to the four arguments.
	if len(args) == 4 {
		return nil, nil
	}
	listed, err := g.run(ctx, args...)
	if err != nil {
		return nil, err
	}
	changed, err := g.run(ctx, "diff-files", "-z", "--name-only", "--ignore-submodules=all")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(string(changed), "\x00") {
		theirs[name] = true
	}
	var names []string
	for line := range strings.SplitSeq(string(listed), "\x00") {
		// The tag H marks a file inside the sparse checkout.
		if name, ok := strings.CutPrefix(line, "H "); ok && !theirs[name] {
			names = append(names, name)
		}
	}
	return names, nil
}

// attributes returns the attributes of the files at the paths names, by path. The value for a file is one text with the
// values of all contentAttributes. Equal texts mean equal values.
func (g *filesGit) attributes(ctx context.Context, names []string) (map[string]string, error) {
	out, err := g.runWith(ctx, paths(names), append([]string{"check-attr", "-z", "--stdin"}, contentAttributes()...)...)
	if err != nil {
		return nil, err
	}
	found := make(map[string]string)
	// git prints three fields for each value: the path, the attribute and the value.
	for fields := strings.Split(string(out), "\x00"); len(fields) >= 3; fields = fields[3:] {
		found[fields[0]] += fields[1] + "=" + fields[2] + "\n"
	}
	return found, nil
}

// paths returns names as the standard input of a git command with the options -z and --stdin: a NUL ends each
// path.
func paths(names []string) io.Reader {
	return strings.NewReader(strings.Join(names, "\x00") + "\x00")
}

// checkOutAgain writes each of the files at the paths names whose attributes have changed. oldAttributes is an earlier
// result of attributes for names. tree has the content of the files.
func (g *filesGit) checkOutAgain(ctx context.Context, tree objstore.ID, names []string, oldAttributes map[string]string) error {
	after, err := g.attributes(ctx, names)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return oldAttributes[name] == after[name] })
	if len(names) == 0 {
		return nil
	}
	// git does not write a file that is unchanged according to git's index. A fresh index has no such file.
	index := g.index.IndexPath() + ".attributes" + gitindex.Unfinished
	defer os.Remove(index) //nolint:errcheck // the next process that locks the folder removes it
	fresh := *g
	fresh.env = append(slices.Clip(g.env), "GIT_INDEX_FILE="+index)
	if _, err := fresh.run(ctx, "read-tree", tree.String()); err != nil {
		return err
	}
	_, err = fresh.runWith(ctx, paths(names), "checkout-index", "-z", "--force", "--stdin")
	return err
}
