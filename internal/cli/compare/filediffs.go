package compare

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/snapshot"
)

// FileDocument is a changed file in a JSON document.
type FileDocument struct {
	Path     string  `json:"path"` // as snapshot.EscapePath spells it
	Op       string  `json:"op"`
	FromMode *string `json:"fromMode"` // nil if the file was added
	ToMode   *string `json:"toMode"`   // nil if the file was removed
	// LinesAdded and LinesRemoved are nil if git compares the file as a whole, because it is binary or large.
	LinesAdded   *int64         `json:"linesAdded"`
	LinesRemoved *int64         `json:"linesRemoved"`
	Hunks        []HunkDocument `json:"hunks"`
	HunksLeft    int            `json:"hunksLeft,omitempty"`
}

// HunkDocument is a hunk in a JSON document, see files.Hunk.
type HunkDocument struct {
	From      int64    `json:"from"`
	FromLines int64    `json:"fromLines"`
	To        int64    `json:"to"`
	ToLines   int64    `json:"toLines"`
	Lines     []string `json:"lines"` // bytes that are not UTF-8 are U+FFFD
}

// FileDiffs returns the files that differ between two trees, sorted as git sorts them, with their changed lines. where, trees and paths are as
// for PathChanges. If there is no error, the result is not nil.
func FileDiffs(ctx context.Context, s *session.Session, where []string, trees Trees, paths []string, limits files.DiffLimits) ([]FileDocument, error) {
	args := append(trees.Arguments(append(slices.Clone(where), files.DiffArguments(files.LargeFile)...)), paths...)
	running, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(running, "git", args...)
	cmd.Dir, cmd.Env, cmd.Stderr = s.Dir, gitexec.AbsolutePaths(s.Env), s.Err
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, gitDiffFailed(ctx, err)
	}
	files, readErr := files.ReadDiff(out, limits)
	if readErr != nil {
		stop() // else git would wait for a reader
	}
	if err := cmd.Wait(); err != nil && (readErr == nil || ctx.Err() != nil) || errors.Is(readErr, context.Canceled) {
		return nil, gitDiffFailed(ctx, err)
	}
	if readErr != nil {
		return nil, gitDiffFailed(ctx, readErr)
	}
	docs := make([]FileDocument, len(files))
	for i, f := range files {
		docs[i] = describeFile(f)
	}
	return docs, nil
}

// describeFile returns the document of a changed file.
func describeFile(f files.FileDiff) FileDocument {
	doc := FileDocument{
		Path: snapshot.EscapePath(f.Path), Op: f.Op, FromMode: mode(f.FromMode), ToMode: mode(f.ToMode),
		Hunks: make([]HunkDocument, len(f.Hunks)), HunksLeft: f.HunksLeft,
	}
	if !f.Binary {
		doc.LinesAdded, doc.LinesRemoved = &f.Added, &f.Removed
	}
	for i, h := range f.Hunks {
		lines := make([]string, len(h.Lines))
		for j, line := range h.Lines {
			lines[j] = strings.ToValidUTF8(line, "\uFFFD")
		}
		doc.Hunks[i] = HunkDocument{h.From, h.FromLines, h.To, h.ToLines, lines}
	}
	return doc
}

// mode returns a mode for a document: nil for "".
func mode(mode string) *string {
	if mode == "" {
		return nil
	}
	return &mode
}
