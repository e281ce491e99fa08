package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
)

// FileDiff is how one file differs between two trees.
type FileDiff struct {
	jjbridge.PathChange

	OldPath          string      // the path before a rename; "" unless the command looks for renames (-M) and has found one
	FromMode, ToMode string      // git's modes, such as 100755; "" where the file does not exist
	FromID, ToID     objstore.ID // zero where the file does not exist
	Binary           bool        // git compares the file as a whole, because it is binary or large
	Added, Removed   int64       // the numbers of changed lines
	Hunks            []Hunk
	HunksLeft        int    // the number of hunks that are not in Hunks, because of the limits
	Patch            []byte // the lines of git for the file, which git apply takes; nil without DiffLimits.Patches
}

// Hunk is a group of changed lines with the lines around it.
type Hunk struct {
	From, FromLines int64 // the first line in the old file, from 1, and the number of its lines
	To, ToLines     int64 // the same in the new file
	// Lines are the lines as git diff shows them: the first character is a space, +, - or a backslash, and the line feed is left out.
	Lines []string
}

// DiffLimits bounds what ReadDiff keeps. HunksLeft counts the rest.
type DiffLimits struct {
	FileLines int64 // changed lines of a file
	FileBytes int   // bytes of all lines of a file
	Bytes     int   // bytes of all lines
	Patches   bool  // the patch of each file is kept as a whole, too; the caller bounds what is read
}

// DefaultDiffLimits are the limits for a view of a difference.
func DefaultDiffLimits() DiffLimits {
	return DiffLimits{FileLines: 2000, FileBytes: 200 << 10, Bytes: 4 << 20}
}

// LargeFile is the size from which git compares a file as a whole, as it does a binary file: here 1 MiB.
const LargeFile = "1m"

// DiffArguments returns the arguments of the git command whose output ReadDiff reads. The caller adds the ids of the two trees, and
// perhaps paths. The command starts no program of the user's configuration. A file of the size large, such as LargeFile, counts as binary.
func DiffArguments(large string) []string {
	return []string{
		"-c", "core.bigFileThreshold=" + large, "-c", "diff.suppressBlankEmpty=false",
		"diff-tree", "-r", "--raw", "-z", "--patch", "--unified=3", "--inter-hunk-context=0", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--no-color", "--ignore-submodules=none", "--diff-algorithm=myers", "--submodule=short",
	}
}

// errDiff is the error about output of git that has another form.
var errDiff = errors.New("the output of git diff-tree has an unknown form")

// ReadDiff reads the output of git with DiffArguments, and returns the files that differ, sorted as git sorts them.
func ReadDiff(r io.Reader, limits DiffLimits) ([]FileDiff, error) {
	in := &diffReader{in: bufio.NewReaderSize(r, 64<<10), limits: limits, left: limits.Bytes}
	if err := in.readFiles(); err != nil || len(in.files) == 0 {
		return in.files, err
	}
	return in.files, in.readPatch()
}

// diffReader reads the output of git with DiffArguments.
type diffReader struct {
	in     *bufio.Reader
	limits DiffLimits
	left   int // bytes of lines that may still be kept

	files []FileDiff
	types []bool // for each file: its kind has changed, so git shows it as a removed and a new file
	line  []byte // the next line of the patch
	patch []byte // the lines before it of the same file, if patches are kept
}

// readFiles reads the list of files: for each one ":<mode> <mode> <id> <id> <status>", a NUL, the path and a NUL; for a renamed file, the old
// path comes before. An empty record ends the list. Without a difference, there is no output.
func (d *diffReader) readFiles() error {
	for {
		facts, err := d.in.ReadString(0)
		if errors.Is(err, io.EOF) && facts == "" || err == nil && facts == "\x00" {
			return nil
		}
		path, pathErr := d.in.ReadString(0)
		fields := strings.Fields(strings.TrimSuffix(facts, "\x00"))
		if err = errors.Join(err, pathErr); err != nil || len(fields) != 5 || fields[4] == "" {
			return errors.Join(errDiff, err)
		}
		f := FileDiff{
			PathChange: jjbridge.PathChange{Path: strings.TrimSuffix(path, "\x00"), Op: jjbridge.OpModify},
			FromMode:   strings.TrimPrefix(fields[0], ":"), ToMode: fields[1], Hunks: []Hunk{},
		}
		var toErr error
		f.FromID, err = objstore.ParseID(fields[2])
		if f.ToID, toErr = objstore.ParseID(fields[3]); err != nil || toErr != nil {
			return errDiff
		}
		switch fields[4][0] {
		case 'R':
			path, err := d.in.ReadString(0)
			if err != nil {
				return errors.Join(errDiff, err)
			}
			f.OldPath, f.Path = f.Path, strings.TrimSuffix(path, "\x00")
		case 'A':
			f.Op, f.FromMode = jjbridge.OpAdd, ""
		case 'D':
			f.Op, f.ToMode = jjbridge.OpRemove, ""
		}
		d.files, d.types = append(d.files, f), append(d.types, fields[4][0] == 'T')
	}
}

// readPatch reads the patch: a section for each file, in the order of the files.
func (d *diffReader) readPatch() error {
	if err := d.next(); err != nil {
		return err
	}
	for i := range d.files {
		sections := 1
		if d.types[i] {
			sections = 2
		}
		f := fileReader{diffReader: d, file: &d.files[i], left: min(d.limits.FileBytes, d.left)}
		for range sections {
			if err := f.readSection(); err != nil {
				return fmt.Errorf("%s: %w", d.files[i].Path, err)
			}
		}
		d.left -= min(d.limits.FileBytes, d.left) - f.left
		f.file.Patch, d.patch = d.patch, nil
	}
	if d.line != nil {
		return errDiff
	}
	return nil
}

// next reads the next line of the patch, without the line feed. At the end of the patch, line is nil.
func (d *diffReader) next() error {
	if d.limits.Patches && d.line != nil {
		d.patch = append(append(d.patch, d.line...), '\n')
	}
	line, err := d.in.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		d.line, err = nil, nil
		if len(line) > 0 {
			d.line = line
		}
		return err
	}
	d.line = bytes.TrimSuffix(line, []byte("\n"))
	return err
}

// has reports whether the next line begins with prefix.
func (d *diffReader) has(prefix string) bool { return bytes.HasPrefix(d.line, []byte(prefix)) }

// fileReader reads the patch of one file.
type fileReader struct {
	*diffReader

	file *FileDiff
	left int // bytes of lines of the file that may still be kept
}

// readSection reads the section of the file: a header, and then hunks.
func (f *fileReader) readSection() error {
	if !f.has("diff --git ") {
		return errDiff
	}
	for {
		if err := f.next(); err != nil {
			return err
		}
		switch {
		case f.line == nil || f.has("diff --git "):
			return nil
		case f.has("Binary files "):
			f.file.Binary = true
		case f.has("@@ "):
			return f.readHunks()
		}
	}
}

// readHunks reads hunks until the next section.
func (f *fileReader) readHunks() error {
	for f.has("@@ ") {
		h, err := parseHunk(string(f.line))
		if err != nil {
			return err
		}
		size := 0
		old, fresh := h.FromLines, h.ToLines
		var added, removed int64
		for {
			if err := f.next(); err != nil {
				return err
			}
			if old+fresh == 0 && !f.has(`\`) {
				break
			}
			if len(f.line) == 0 {
				return errDiff
			}
			switch f.line[0] {
			case ' ':
				old, fresh = old-1, fresh-1
			case '-':
				old, removed = old-1, removed+1
			case '+':
				fresh, added = fresh-1, added+1
			case '\\':
			default:
				return errDiff
			}
			if old < 0 || fresh < 0 {
				return errDiff
			}
			if size += len(f.line); size <= f.left {
				h.Lines = append(h.Lines, string(f.line))
			}
		}
		f.file.Added += added
		f.file.Removed += removed
		f.keep(h, size)
	}
	return nil
}

// keep adds a hunk to the file, unless a limit is reached or a hunk before it was left out. size is the number of bytes of its lines.
func (f *fileReader) keep(h Hunk, size int) {
	if f.file.HunksLeft > 0 || size > f.left || f.file.Added+f.file.Removed > f.limits.FileLines {
		f.file.HunksLeft++
		return
	}
	f.left -= size
	f.file.Hunks = append(f.file.Hunks, h)
}

// parseHunk parses the first line of a hunk: "@@ -from,lines +to,lines @@". A number of lines that is 1 is left out.
func parseHunk(line string) (Hunk, error) {
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[1], "-") || !strings.HasPrefix(fields[2], "+") {
		return Hunk{}, errDiff
	}
	var h Hunk
	var err, toErr error
	h.From, h.FromLines, err = parseRange(fields[1][1:])
	h.To, h.ToLines, toErr = parseRange(fields[2][1:])
	return h, errors.Join(err, toErr)
}

// parseRange parses "from,lines", or "from" for one line.
func parseRange(text string) (from, lines int64, err error) {
	first, count, several := strings.Cut(text, ",")
	lines = 1
	if from, err = strconv.ParseInt(first, 10, 64); err == nil && several {
		lines, err = strconv.ParseInt(count, 10, 64)
	}
	if err != nil || from < 0 || lines < 0 {
		return 0, 0, errDiff
	}
	return from, lines, nil
}
