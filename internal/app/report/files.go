package report

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	maxPatch     = 4 << 20 // bytes of a patch that are read
	maxFiles     = 100     // files of a part
	maxFileLines = 400     // lines of a file
)

// files adds to a part how the files of two entries differ, in the working copy of the run and in the worktrees of its tasks.
func (r *runReader) files(ctx context.Context, part *Part, from, to *snapshot.Entry) error {
	before, err := from.VCSRevision()
	if err != nil {
		return timeline.Explain(err)
	}
	after, err := to.VCSRevision()
	if err != nil || before == nil || after == nil {
		return timeline.Explain(err)
	}
	was, is := files.TreesOf(before), files.TreesOf(after)
	for _, name := range slices.Sorted(maps.Keys(is)) {
		tree, had := was[name]
		if !had && name != "" {
			tree = files.WorktreeStart(r.store.Objects(), before, files.WorktreeOf(after, name))
		}
		if tree.IsZero() || tree == is[name] {
			continue
		}
		if name != "" {
			part.Lines = append(part.Lines, Line{Kind: HeadLine, Text: "Worktree of " + r.name(name)})
		}
		if err := r.tree(ctx, part, tree, is[name]); err != nil {
			return err
		}
	}
	return nil
}

// tree adds to a part how two trees differ.
func (r *runReader) tree(ctx context.Context, part *Part, from, to objstore.ID) error {
	if err := files.CheckChanges(ctx, r.store, from, to); err != nil {
		return err
	}
	raw, err := r.git(ctx, maxPatch, "-z", "--raw", "--no-abbrev", from.String(), to.String())
	if err != nil {
		return err
	}
	changes := readRaw(string(raw))
	patch, err := r.git(ctx, maxPatch, "-p", "--full-index", "--src-prefix=a/", "--dst-prefix=b/", from.String(), to.String())
	if err != nil {
		return err
	}
	patches := splitPatch(patch)
	if len(patches) > len(changes) || len(patch) >= maxPatch {
		patches = patches[:min(max(len(patches)-1, 0), len(changes))] // the last is not whole
	}
	for i, change := range changes {
		if i >= maxFiles {
			part.Left += len(changes) - i
			part.Code.Files += len(changes) - i
			break
		}
		part.Code.Files++
		if change.op == 'R' { // counted as everywhere else: one is removed, one is added
			part.Code.Files++
		}
		var hunks []byte
		if i < len(patches) {
			hunks = patches[i]
		}
		r.file(part, change, hunks, i < len(patches))
	}
	return nil
}

// git returns what git diff-tree prints, at most most bytes. It reads no settings and attributes of the working copy, fetches
// nothing, and takes a file above 1 MiB for binary, as files.Numstat does.
func (r *runReader) git(ctx context.Context, most int64, args ...string) (out []byte, err error) {
	git := gitexec.New(r.store.Repo(), append(slices.Clone(r.store.Env()), "GIT_NO_LAZY_FETCH=1"))
	enough := errors.New("enough was read")
	_, err = git.Read(ctx, nil, slices.Concat([]string{
		"-c", "core.bigFileThreshold=1m", "-c", "core.quotePath=true", "diff-tree", "-r", "-M", "-l200", "--no-ext-diff", "--no-textconv", "--no-color",
		"--ignore-submodules=none", "--diff-algorithm=myers",
	}, args), func(r io.Reader) error {
		var err error
		if out, err = io.ReadAll(io.LimitReader(r, most)); err == nil && int64(len(out)) == most {
			err = enough
		}
		return err
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return out, timeline.Explain(err)
}

// A rawChange is a line of git diff-tree --raw.
type rawChange struct {
	fromMode, toMode string // "000000" for no file
	from, to         string // object ids
	op               byte   // A, D, M, R, C or T
	path, old        string // old is the path before a rename or a copy
}

// readRaw reads the output of git diff-tree -z --raw. It leaves out an incomplete record at the end.
func readRaw(out string) []rawChange {
	var list []rawChange
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); {
		words := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(words) != 5 || words[4] == "" {
			break
		}
		c := rawChange{fromMode: words[0], toMode: words[1], from: words[2], to: words[3], op: words[4][0], path: fields[i+1]}
		i += 2
		if c.op == 'R' || c.op == 'C' {
			if i+1 >= len(fields) {
				break
			}
			c.old, c.path = c.path, fields[i]
			i++
		}
		list = append(list, c)
	}
	return list
}

// splitPatch splits a patch into the patches of its files. No line of a file begins like the first line of such a patch: it has one
// of the characters " +-\" before it. A file that has become a link, or the other way round, has two patches with one first line.
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

// what returns in words what happened to a file, but for its lines; "" for nothing else.
func (c rawChange) what() string {
	var words []string
	switch c.op {
	case 'A':
		words = append(words, "new")
	case 'D':
		words = append(words, "removed")
	}
	const link, exec, module = "120000", "100755", "160000"
	switch {
	case c.toMode == module || c.fromMode == module:
		words = append(words, "submodule")
	case c.op == 'T' && c.toMode == link:
		words = append(words, "now a symbolic link")
	case c.op == 'T' && c.fromMode == link:
		words = append(words, "no longer a symbolic link")
	case c.toMode == link || c.op == 'D' && c.fromMode == link:
		words = append(words, "symbolic link")
	case c.op == 'A' && c.toMode == exec:
		words = append(words, "executable")
	case c.op != 'A' && c.op != 'D' && c.toMode == exec && c.fromMode != exec:
		words = append(words, "now executable")
	case c.op != 'A' && c.op != 'D' && c.fromMode == exec && c.toMode != exec:
		words = append(words, "no longer executable")
	}
	return strings.Join(words, ", ")
}

// file adds the lines of a changed file to a part. patch has its hunks; known is false if the patch was not read.
func (r *runReader) file(part *Part, c rawChange, patch []byte, known bool) {
	head := Line{Kind: FileLine, Text: r.line(c.path, nameShown), Tool: c.what()}
	if c.old != "" {
		verb := "renamed from "
		if c.op == 'C' {
			verb = "copied from "
		}
		head.Tool = strings.TrimSuffix(verb+r.line(c.old, nameShown)+", "+head.Tool, ", ")
	}
	lines, left := r.hunks(c, patch)
	for _, line := range lines {
		if line.Kind == AddedLine {
			head.Code.Added++
		}
		if line.Kind == RemovedLine {
			head.Code.Removed++
		}
	}
	switch {
	case !known:
		head.Tool = strings.TrimPrefix(head.Tool+", too large to show", ", ")
	case bytes.Contains(patch, []byte("\nBinary files ")) && len(lines) == 0:
		head.Tool = strings.TrimPrefix(head.Tool+", binary or above 1 MiB", ", ")
		part.Code.Uncounted++
	}
	part.Code.Added += head.Code.Added
	part.Code.Removed += head.Code.Removed
	if most := maxFileLines; len(lines) > most {
		left, lines = left+len(lines)-most, lines[:most]
	}
	part.Left += left
	part.Lines = append(append(part.Lines, head), lines...)
}

// hunks returns the lines of a file's patch. Lines of a file with a secret are those of its content without the secret.
func (r *runReader) hunks(c rawChange, patch []byte) (lines []Line, left int) {
	was, is := r.clean(c.from, firstOf(c.old, c.path)), r.clean(c.to, c.path)
	var from, to int // the numbers of the next lines
	in := false
	for text := range strings.Lines(string(patch)) {
		text = strings.TrimSuffix(text, "\n")
		if strings.HasPrefix(text, "@@ ") {
			from, to = hunkStart(text)
			if in || max(from, to) > 1 {
				lines = append(lines, Line{Kind: HunkLine})
			}
			in = true
			continue
		}
		if strings.HasPrefix(text, "diff --git ") {
			in = false
		}
		if !in || text == "" {
			continue
		}
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
	markWords(lines)
	return lines, 0
}

// clean returns the lines of a file without its secrets, or nil if it has none, or is too large for a patch with lines.
func (r *runReader) clean(id, path string) []string {
	blob, err := objstore.ParseID(id)
	if err != nil || blob.IsZero() {
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

// firstOf returns the first text that is not empty.
func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// hunkStart returns the numbers of the first lines of a hunk: @@ -FROM,N +TO,N @@.
func hunkStart(head string) (from, to int) {
	for _, word := range strings.Fields(head)[1:3] {
		first, _, _ := strings.Cut(word[1:], ",")
		n, _ := strconv.Atoi(first) // git wrote it
		if word[0] == '-' {
			from = n
		} else {
			to = n
		}
	}
	return from, to
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
