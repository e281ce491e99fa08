// Package outfit gives a new working copy what no frame has: the ignored files that .worktreeinclude names, and what a setup command makes.
package outfit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
)

// IncludeFile is the file at the top of a working copy that names the ignored files to bring into new ones, as .gitignore names files.
const IncludeFile = ".worktreeinclude"

// The limits of Bring. Above them, it brings nothing.
const (
	maxFiles    = 200_000
	maxBytes    = 10 << 30
	maxPatterns = 1 << 20 // bytes of IncludeFile
)

// Brought lists the ignored files that Bring has copied. As JSON, it is members of another document.
type Brought struct {
	Files   int      `json:"broughtFiles,omitempty"`
	Bytes   int64    `json:"broughtBytes,omitempty"`
	Skipped []string `json:"notBrought,omitempty"` // files that match and cannot be brought
	// Lacks has the ignored folders, and files named .env…, at the top of the working copy that the new one lacks, if there is no IncludeFile.
	Lacks []string `json:"lacks,omitempty"`
}

// Bring copies the files of the working copy from that its IncludeFile names, and that git ignores in both working copies, into the new working copy to. It
// copies symbolic links as links. It writes nothing outside of to, and no path that exists there, so an interrupted Bring can be repeated. update gets the
// number of finished files, and of all. The error says what stopped Bring; what it has brought stays.
func Bring(ctx context.Context, from, to *jjbridge.Workspace, update func(done, total int)) (out Brought, err error) {
	if from.Root == "" || from.Root == to.Root {
		return out, nil
	}
	file := filepath.Join(from.Root, IncludeFile)
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		out.Lacks, err = lacks(ctx, from, to)
		return out, err
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPatterns {
		return out, errors.Join(err, fmt.Errorf("%s is not a file of at most %d bytes", IncludeFile, maxPatterns))
	}
	paths, err := from.IgnoredMatching(ctx, file)
	if err != nil || len(paths) == 0 {
		return out, err
	}
	c, err := newCopier(from.Root, to.Root)
	if err != nil {
		return out, err
	}
	defer c.close()
	if err := c.check(paths); err != nil {
		return out, err
	}
	ignored, err := to.Ignores(ctx, slices.DeleteFunc(slices.Clone(paths), c.isBlocked)) // git refuses to answer about a path through a link
	for i, name := range paths {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return out, err
		}
		update(i, len(paths))
		size, copied := int64(0), errSkipped
		if ignored[name] {
			size, copied = c.copy(name)
		}
		switch {
		case copied == nil:
			out.Files, out.Bytes = out.Files+1, out.Bytes+size
		case errors.Is(copied, errSkipped):
			out.Skipped = append(out.Skipped, name)
		case !errors.Is(copied, fs.ErrExist): // a file of the frame, or of an interrupted Bring
			return out, copied
		}
	}
	return out, err
}

// lacks returns Brought.Lacks.
func lacks(ctx context.Context, from, to *jjbridge.Workspace) ([]string, error) {
	all, err := from.IgnoredAtTop(ctx)
	return slices.DeleteFunc(all, func(name string) bool {
		_, gone := os.Lstat(filepath.Join(to.Root, name))
		return gone == nil || !strings.HasSuffix(name, "/") && !strings.HasPrefix(name, ".env") ||
			strings.HasPrefix(to.Root, filepath.Join(from.Root, name)+string(filepath.Separator))
	}), err
}
