package claim

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	// liveLogsFolder is a folder in the store's private folder. It holds a folder for each run, with a file for each log.
	liveLogsFolder = "logs"
	// liveLogHeader is the size of the header of a log's file: the number of bytes of the log that were dropped before
	// those in the file, as 20 decimal digits and a line feed.
	liveLogHeader = 21
	// liveLogAttempts bounds how often Open tries again because another process removed the empty folder.
	liveLogAttempts = 10
)

// LiveLogs are the logs of a run's attempts that have not ended, as files in the store's private folder. When an
// attempt ends, its log goes into the journal and the file is removed. Attempts are named by their keys, see
// snapshot.AttemptKey. Safe for concurrent use.
type LiveLogs struct{ folder string }

// LiveLogsOf returns the live logs of a run.
func LiveLogsOf(s *timeline.Store, run string) *LiveLogs {
	return &LiveLogs{filepath.Join(s.Repo().CommonDir, timeline.PrivateDir, liveLogsFolder, fileName(run))}
}

// fileName returns a name as a valid name of a file or folder; see refs.EscapeRun.
func fileName(name string) string {
	escaped, err := refs.EscapeRun(name)
	if err != nil {
		return "_" // for the empty name; no other name is escaped to it
	}
	return escaped
}

func (l *LiveLogs) path(attempt string) string { return filepath.Join(l.folder, fileName(attempt)) }

// Open begins the log of an attempt. The file keeps about the last limit bytes. One goroutine at a time may use the
// writer. Its Write never returns an error: after the first error of the disk it drops all further bytes.
func (l *LiveLogs) Open(attempt string, limit int) (io.WriteCloser, error) {
	w := &liveLogWriter{path: l.path(attempt), limit: int64(max(1, limit))}
	var err error
	for range liveLogAttempts {
		if err = os.MkdirAll(l.folder, 0o777); err != nil {
			break
		}
		if w.file, err = newLiveLog(w.path, 0, nil); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return w, nil
}

// newLiveLog makes a new file for a log, in place of an old file. start is the number of dropped bytes, and kept the
// bytes after them. The file is positioned at its end.
func newLiveLog(path string, start int64, kept []byte) (*os.File, error) {
	fresh := path + ".new"
	file, err := os.Create(fresh)
	if err != nil {
		return nil, err
	}
	if _, err = file.Write(append(fmt.Appendf(nil, "%020d\n", start), kept...)); err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(fresh))
	}
	return file, nil
}

// Last returns the kept part of an attempt's log as text. If bytes were dropped before it, a first line has their
// number. It returns "" if the log does not exist or is unreadable.
func (l *LiveLogs) Last(attempt string) string {
	data, err := os.ReadFile(l.path(attempt))
	if err != nil || len(data) < liveLogHeader {
		return ""
	}
	start, err := parseLiveLogHeader(data)
	if err != nil {
		return ""
	}
	return missing(start) + strings.ToValidUTF8(string(data[liveLogHeader:]), "\uFFFD")
}

func parseLiveLogHeader(data []byte) (int64, error) {
	return strconv.ParseInt(strings.TrimSpace(string(data[:liveLogHeader])), 10, 64)
}

// missing returns the line that replaces bytes that a log dropped, or "" if it dropped none.
func missing(bytes int64) string {
	if bytes <= 0 {
		return ""
	}
	return fmt.Sprintf("[%d bytes before this are not kept]\n", bytes)
}

// Remove removes the log of an attempt.
func (l *LiveLogs) Remove(attempt string) {
	// If the file stays, readers take the attempt for a running one, until the next log of the same name is removed.
	_ = os.Remove(l.path(attempt))
	_ = os.Remove(l.folder) // fails if the folder has another log, as it should
}

// Clear removes all logs of the run, including files that killed processes left.
func (l *LiveLogs) Clear() { _ = os.RemoveAll(l.folder) }
