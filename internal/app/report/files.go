package report

import (
	"cmp"
	"context"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	maxPatch     = 4 << 20 // bytes of the lines of all files of two trees
	maxFiles     = 100     // files of a part
	maxFileLines = 400     // lines of a file
)

// files adds to a part how the files of two entries differ, in the working copy of the run and in the worktrees of its tasks.
func (r *runReader) files(ctx context.Context, part *Part, from, to *snapshot.Entry) error {
	_, err := files.EachChanged(r.store, from, to, func(task string, was, is objstore.ID) error {
		if task != "" {
			part.Lines = append(part.Lines, Line{Kind: HeadLine, Text: "Worktree of " + r.name(task)})
		}
		return r.tree(ctx, part, was, is)
	})
	return err
}

// tree adds to a part how two trees differ.
func (r *runReader) tree(ctx context.Context, part *Part, from, to objstore.ID) error {
	changes, err := files.DiffTrees(ctx, r.store, from, to, files.DiffLimits{FileLines: math.MaxInt64, FileBytes: maxPatch, Bytes: maxPatch})
	if err != nil {
		return err
	}
	for i, change := range changes {
		if i >= maxFiles {
			part.Left += len(changes) - i
			part.Code.Files += len(changes) - i
			break
		}
		part.Code.Files++
		if change.OldPath != "" { // counted as everywhere else: one is removed, one is added
			part.Code.Files++
		}
		r.file(part, change)
	}
	return nil
}

// whatHappened returns in words what happened to a file, but for its lines; "" for nothing else.
func whatHappened(f files.FileDiff) string {
	var words []string
	isNew, isGone := f.FromMode == "", f.ToMode == ""
	if isNew {
		words = append(words, "new")
	}
	if isGone {
		words = append(words, "removed")
	}
	const link, exec, module = "120000", "100755", "160000"
	switch {
	case f.ToMode == module || f.FromMode == module:
		words = append(words, "submodule")
	case f.ToMode == link && f.FromMode != link && !isNew:
		words = append(words, "now a symbolic link")
	case f.FromMode == link && f.ToMode != link && !isGone:
		words = append(words, "no longer a symbolic link")
	case f.ToMode == link || f.FromMode == link:
		words = append(words, "symbolic link")
	case isNew && f.ToMode == exec:
		words = append(words, "executable")
	case f.ToMode == exec && f.FromMode != exec:
		words = append(words, "now executable")
	case f.FromMode == exec && f.ToMode != exec && !isGone:
		words = append(words, "no longer executable")
	}
	return strings.Join(words, ", ")
}

// file adds the lines of a changed file to a part.
func (r *runReader) file(part *Part, f files.FileDiff) {
	head := Line{Kind: FileLine, Text: r.line(f.Path, nameShown), Tool: whatHappened(f)}
	if f.OldPath != "" {
		head.Tool = strings.TrimSuffix("renamed from "+r.line(f.OldPath, nameShown)+", "+head.Tool, ", ")
	}
	var lines []Line
	switch {
	case f.HunksLeft > 0:
		head.Tool = strings.TrimPrefix(head.Tool+", too large to show", ", ")
	case len(f.Hunks) > 0:
		lines = r.hunks(f)
		head.Code.Added, head.Code.Removed = f.Added, f.Removed
	case f.Binary:
		head.Tool = strings.TrimPrefix(head.Tool+", binary or above 1 MiB", ", ")
		part.Code.Uncounted++
	}
	part.Code.Added += head.Code.Added
	part.Code.Removed += head.Code.Removed
	if most := maxFileLines; len(lines) > most {
		part.Left += len(lines) - most
		lines = lines[:most]
	}
	part.Lines = append(append(part.Lines, head), lines...)
}

// hunks returns the lines of a file's patch. Lines of a file with a secret are those of its content without the secret.
func (r *runReader) hunks(f files.FileDiff) (lines []Line) {
	was, is := r.clean(f.FromID, cmp.Or(f.OldPath, f.Path)), r.clean(f.ToID, f.Path)
	for i, hunk := range f.Hunks {
		from, to := int(hunk.From), int(hunk.To) // the numbers of the next lines
		// A file that becomes a link has two hunks that follow no other.
		if i > 0 && from > 0 || max(from, to) > 1 {
			lines = append(lines, Line{Kind: HunkLine})
		}
		for _, text := range hunk.Lines {
			line := Line{Text: text[1:]}
			switch text[0] {
			case ' ':
				line.Kind, line.Number = SameLine, to
				line.Text = lineOf(is, to, line.Text)
				from, to = from+1, to+1
			case '-':
				line.Kind, line.Number = RemovedLine, from
				line.Text = lineOf(was, from, line.Text)
				from++
			case '+':
				line.Kind, line.Number = AddedLine, to
				line.Text = lineOf(is, to, line.Text)
				to++
			default: // no line feed at the end
				line = Line{Kind: HunkLine, Text: "no line feed at the end of the file"}
			}
			line.Text, line.Cut = cut(strings.TrimSuffix(line.Text, "\r"), lineShown)
			lines = append(lines, line)
		}
	}
	markWords(lines)
	return lines
}

// clean returns the lines of a file without its secrets, or nil if it has none, or is too large for a patch with lines.
func (r *runReader) clean(blob objstore.ID, path string) []string {
	if blob.IsZero() {
		return nil
	}
	_, content, err := r.store.Objects().Get(blob)
	if err != nil || len(content) > 1<<20 {
		return nil
	}
	text, found := r.mask.file(path, content)
	if !found {
		return nil
	}
	return strings.Split(text, "\n")
}

// lineOf returns the line with a number, from 1, or text if lines is nil.
func lineOf(lines []string, number int, text string) string {
	if lines == nil {
		return text
	}
	if number < 1 || number > len(lines) {
		return ""
	}
	return lines[number-1]
}

// markWords marks what differs in lines that replace as many lines.
func markWords(lines []Line) {
	for i := 0; i < len(lines); {
		if lines[i].Kind != RemovedLine {
			i++
			continue
		}
		added := i
		for added < len(lines) && lines[added].Kind == RemovedLine {
			added++
		}
		end := added
		for end < len(lines) && lines[end].Kind == AddedLine {
			end++
		}
		if end-added == added-i {
			for k := i; k < added; k++ {
				markPair(&lines[k], &lines[added+k-i])
			}
		}
		i = end
	}
}

// markPair marks what differs between two lines, unless nearly everything does.
func markPair(a, b *Line) {
	const most = 4 // at least one character in most is the same
	x, y := a.Text, b.Text
	if !utf8.ValidString(x) || !utf8.ValidString(y) || redact.HasSign([]byte(x)) || redact.HasSign([]byte(y)) {
		return
	}
	head := 0
	for head < len(x) && head < len(y) && x[head] == y[head] {
		head++
	}
	for head > 0 && (head < len(x) && !utf8.RuneStart(x[head]) || head < len(y) && !utf8.RuneStart(y[head])) {
		head--
	}
	tail := 0
	for tail < len(x)-head && tail < len(y)-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	for tail > 0 && !utf8.RuneStart(x[len(x)-tail]) {
		tail--
	}
	if (head+tail)*most < max(len(x), len(y)) {
		return
	}
	a.MarkFrom, a.MarkTo = head, len(x)-tail
	b.MarkFrom, b.MarkTo = head, len(y)-tail
}
