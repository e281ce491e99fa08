package agent

import (
	"context"
	"io"
	"slices"
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

// The sizes from which git makes a binary patch of a file: git's own, and every size.
const (
	gitsOwn   = "512m"
	everySize = "0"
)

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
	changed, err := gitPatches(ctx, s, gitsOwn, from.String(), to.String())
	if err != nil {
		return nil, err
	}
	for _, f := range changed {
		patch := f.Patch
		if !utf8.Valid(patch) {
			again, err := gitPatches(ctx, s, everySize, from.String(), to.String(), "--", f.Path)
			if err != nil {
				return nil, err
			}
			for _, same := range again { // and what is below the path, if a folder took the file's place
				if same.Path == f.Path {
					patch = same.Patch
				}
			}
		}
		diffs = append(diffs, FileDiff{snapshot.EscapePath(f.Path), string(patch)})
	}
	return diffs, nil
}

// gitPatches returns the files that differ, with their patches. git makes a binary patch of a file of the size large. args are two trees, and
// perhaps a path.
func gitPatches(ctx context.Context, s *timeline.Store, large string, args ...string) (changed []files.FileDiff, err error) {
	git := gitexec.New(s.Repo(), append(slices.Clone(s.Env()), "GIT_NO_LAZY_FETCH=1", "GIT_LITERAL_PATHSPECS=1"))
	args = slices.Concat([]string{"-c", "core.quotePath=true"}, files.DiffArguments(large),
		[]string{"--binary", "--full-index", "--src-prefix=a/", "--dst-prefix=b/"}, args)
	_, err = git.Read(ctx, nil, args, func(r io.Reader) error {
		most := &io.LimitedReader{R: r, N: maxPatches + 1}
		changed, err = files.ReadDiff(most, files.DiffLimits{Patches: true})
		if most.N == 0 {
			err = fault.New(fault.LimitExceeded, "the changes of a frame have more than %d MB", maxPatches>>20)
		}
		return err
	})
	return changed, timeline.Explain(err)
}
