package list

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/timeline"
)

// hereFolder is the folder of the notes in the store's private folder. Each working copy has a file with a line for each run, the newest run
// at the end. No history names a folder of a machine, so the notes are this clone's alone.
const hereFolder = "here"

// hereRead is how many bytes at the end of such a file are read.
const hereRead = 64 << 10

// NoteHere notes that a run was started, continued, forked, captured or imported last of all in the working copy. A failed write is a warning.
func NoteHere(s *timeline.Store, run string) {
	line := strconv.Quote(run) + "\n"
	if end := hereTail(s, len(line)+1); end == line || strings.HasSuffix(end, "\n"+line) {
		return
	}
	path := herePath(s)
	err := os.MkdirAll(filepath.Dir(path), 0o777) //nolint:gosec // the umask decides who may read the repository
	if err == nil {
		err = appendText(path, line)
	}
	if err != nil {
		s.Warn(fmt.Errorf("run %q was not noted as the newest of the working copy, so @ can mean another run: %w", run, err))
	}
}

// appendText appends a text to a file, and makes the file if it is missing.
func appendText(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666) //nolint:gosec // the umask decides who may read the repository
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Here returns the runs for which NoteHere was called in the working copy, each once, the newest first. A run may be gone since.
func Here(s *timeline.Store) []string {
	lines := strings.Split(hereTail(s, hereRead), "\n")
	slices.Reverse(lines)
	var runs []string
	seen := make(map[string]bool)
	for _, line := range lines {
		run, err := strconv.Unquote(line) // the first line may be a part of one
		if err == nil && !seen[run] {
			runs, seen[run] = append(runs, run), true
		}
	}
	return runs
}

// hereTail returns at most size bytes of the end of the working copy's file, or "" if the file cannot be read.
func hereTail(s *timeline.Store, size int) string {
	f, err := os.Open(herePath(s))
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // the file was only read
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	text := make([]byte, min(info.Size(), int64(size)))
	if _, err := f.ReadAt(text, info.Size()-int64(len(text))); err != nil {
		return ""
	}
	return string(text)
}

// herePath returns the path of the working copy's file.
func herePath(s *timeline.Store) string {
	sum := sha256.Sum256([]byte(s.Workspace().Root))
	return filepath.Join(s.Private(), hereFolder, hex.EncodeToString(sum[:8]))
}
