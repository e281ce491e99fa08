package agent

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// maxPatches is the size of all patches of a frame, in bytes, above which there are none: a stranger may have made the files.
const maxPatches = 256 << 20

// FileDiff is the change of a file, for git apply.
type FileDiff struct {
	Path  string `json:"path"` // spelled as in vcs.json: see snapshot.EscapePath
	Patch string `json:"patch"`
}

// filePatches returns the changes of the files from one tree to another, by path. A binary file, and a file with bytes that are not
// UTF-8, has a binary patch. A renamed file is removed and added. The result is never nil. Code: limit_exceeded if the changes are
// too many or too large.
func filePatches(ctx context.Context, s *timeline.Store, from, to objstore.ID) ([]FileDiff, error) {
	diffs := []FileDiff{}
	if from == to {
		return diffs, nil
	}
	if err := files.CheckChanges(ctx, s, from, to); err != nil {
		return nil, err
	}
	out, err := gitPatch(ctx, s, nil, from.String(), to.String())
	if err != nil {
		return nil, err
	}
	for _, patch := range splitPatch(out) {
		path := pathOfPatch(patch)
		if !utf8.Valid(patch) {
			// git takes a file above the threshold for binary.
			if patch, err = gitPatch(ctx, s, []string{"-c", "core.bigFileThreshold=0"}, from.String(), to.String(), "--", path); err != nil {
				return nil, err
			}
		}
		diffs = append(diffs, FileDiff{snapshot.EscapePath(path), string(patch)})
	}
	return diffs, nil
}

// gitPatch returns what git diff-tree prints with the arguments. options are options of git itself.
func gitPatch(ctx context.Context, s *timeline.Store, options []string, args ...string) (out []byte, err error) {
	git := gitexec.New(s.Repo(), append(slices.Clone(s.Env()), "GIT_NO_LAZY_FETCH=1", "GIT_LITERAL_PATHSPECS=1"))
	args = slices.Concat(options, []string{
		"-c", "core.quotePath=true", "diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=none", "--diff-algorithm=myers",
	}, args)
	_, err = git.Read(ctx, nil, args, func(r io.Reader) error {
		if out, err = io.ReadAll(io.LimitReader(r, maxPatches+1)); err == nil && len(out) > maxPatches {
			err = fault.New(fault.LimitExceeded, "the changes of a frame have more than %d MB", maxPatches>>20)
		}
		return err
	})
	return out, timeline.Explain(err)
}

// splitPatch splits a patch into the patches of its files. No line of a file begins like the first line of such a patch: it has one
// of the characters " +-\" before it. A file that has become a link, or the other way round, is removed and added in one patch.
func splitPatch(patch []byte) [][]byte {
	var parts [][]byte
	for line := range bytes.Lines(patch) {
		last := len(parts) - 1
		if last < 0 || bytes.HasPrefix(line, []byte("diff --git ")) && !bytes.HasPrefix(parts[last], line) {
			parts, last = append(parts, nil), last+1
		}
		parts[last] = append(parts[last], line...)
	}
	return parts
}

// pathOfPatch returns the path in the first line of a file's patch, `diff --git a/path b/path`. Both paths are the same, because
// there are no renames. git quotes a path with unusual bytes as C does.
func pathOfPatch(patch []byte) string {
	line, _, _ := strings.Cut(string(patch), "\n")
	names := strings.TrimPrefix(line, "diff --git ")
	first := names[:len(names)/2]
	if strings.HasPrefix(first, `"`) {
		// Go unquotes as C does, but for the escapes of bytes: these have three octal digits in both.
		if name, err := strconv.Unquote(first); err == nil {
			first = name
		}
	}
	return strings.TrimPrefix(first, "a/")
}
