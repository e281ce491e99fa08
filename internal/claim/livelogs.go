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

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	// liveLogsFolder is a folder in the store's private folder. It has a folder for each run, and in that folder
	// a file for each log.
	liveLogsFolder = "logs"
	// callsSuffix ends the name of the file of an attempt's tool calls. No key of an attempt ends so.
	callsSuffix = ".calls"
	// signalsSuffix ends the name of the file of an attempt's signals. No key of an attempt ends so.
	signalsSuffix = ".signals"
	// liveLogHeader is the size in bytes of the header of a log's file. The header has 20 decimal digits and a line
	// feed: the number of bytes of the log that were dropped before the bytes in the file.
	liveLogHeader = 21
	// liveLogAttempts is the largest number of times that Open tries to make its file. Another process may
	// remove the empty folder.
	liveLogAttempts = 10
)

// LiveLogs are the logs of a run's attempts that have not ended, as files in the store's private folder. When an
// attempt ends, its log goes into the journal and the file is removed. Attempts are named by their keys; see
// snapshot.AttemptKey. LiveLogs are safe for concurrent use.
type LiveLogs struct{ folder string }

// LiveLogsOf returns the LiveLogs of the run with the id run. It reads and writes no file.
func LiveLogsOf(s *timeline.Store, run string) *LiveLogs {
	return &LiveLogs{filepath.Join(s.Repo().CommonDir, timeline.PrivateDir, liveLogsFolder, fileName(run))}
}

// fileName returns name in a form that is valid as the name of a file or folder; see refs.EscapeRun.
func fileName(name string) string {
	escaped, err := refs.EscapeRun(name)
	if err != nil {
		return "_" // the file name for the empty name; no other name is escaped to _
	}
	return escaped
}

// path returns the path of the file for the log of an attempt.
func (l *LiveLogs) path(attempt string) string { return filepath.Join(l.folder, fileName(attempt)) }

// Open begins the log of an attempt, in place of an earlier log, and returns the log's writer. attempt is the
// attempt's key. When the file has more than twice limit bytes of the log, the writer drops all but the last limit
// bytes. Only one goroutine at a time may use the writer. The writer's Write never returns an error: after the
// first error of the disk, Write drops all further bytes.
func (l *LiveLogs) Open(attempt string, limit int) (io.WriteCloser, error) {
	w := &liveLogWriter{path: l.path(attempt), limit: int64(max(1, limit))}
	var err error
	// Another process may remove the empty folder between the two steps (see Remove), so try again.
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

// newLiveLog makes the file of a log at path and returns the file, open at its end. start is the number of bytes that
// were dropped, and the slice kept has the bytes that follow. The new file replaces an older file only once its
// content is written.
func newLiveLog(path string, start int64, kept []byte) (*os.File, error) {
	fresh := path + ".new"
	file, err := os.Create(fresh)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(append(fmt.Appendf(nil, "%020d\n", start), kept...))
	if err == nil {
		var moved *os.File
		if moved, err = fsx.RenameOpen(file, path); err == nil {
			return moved, nil
		}
	}
	return nil, errors.Join(err, file.Close(), os.Remove(fresh))
}

// Last returns the kept part of an attempt's log as text, with U+FFFD for bytes that are not UTF-8. If bytes were
// dropped before the kept part, a first line has the number of dropped bytes. Last returns "" if the log does not
// exist or is unreadable.
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

// parseLiveLogHeader returns the number of dropped bytes in the header of a log's file. data has at least
// liveLogHeader bytes.
func parseLiveLogHeader(data []byte) (int64, error) {
	return strconv.ParseInt(strings.TrimSpace(string(data[:liveLogHeader])), 10, 64)
}

// missing returns the line that replaces dropped bytes of a log. bytes is the number of dropped bytes; if it is 0
// or negative, missing returns "".
func missing(bytes int64) string {
	if bytes <= 0 {
		return ""
	}
	return fmt.Sprintf("[%d bytes before this are not kept]\n", bytes)
}

// Calls makes the file to which the command of an attempt appends a line for each tool call, in place of an earlier file, and
// returns its path.
func (l *LiveLogs) Calls(attempt string) (path string, err error) {
	path = l.LeftCalls(attempt)
	file, err := l.empty(path)
	if err == nil {
		err = file.Close()
	}
	return path, timeline.Explain(err)
}

// Signals makes the file from which the command of an attempt reads signals, in place of an earlier file, and opens it for appending.
func (l *LiveLogs) Signals(attempt string) (*os.File, error) {
	file, err := l.empty(l.path(attempt) + signalsSuffix)
	return file, timeline.Explain(err)
}

// empty makes an empty file at path, in l.folder, in place of an earlier file, and opens it for appending.
func (l *LiveLogs) empty(path string) (file *os.File, err error) {
	for range liveLogAttempts { // as in Open
		if err = os.MkdirAll(l.folder, 0o777); err != nil {
			break
		}
		file, err = os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return file, err
}

// LeftCalls returns the path of the file that Calls made for an attempt, which need not exist any more.
func (l *LiveLogs) LeftCalls(attempt string) (path string) { return l.path(attempt) + callsSuffix }

// Remove removes the log, the tool calls and the signals of an attempt. Errors are ignored.
func (l *LiveLogs) Remove(attempt string) {
	// If the file stays, readers assume that the attempt is still running, until a later log of the same attempt is
	// removed.
	_ = os.Remove(l.path(attempt))
	_ = os.Remove(l.path(attempt) + callsSuffix)
	_ = os.Remove(l.path(attempt) + signalsSuffix)
	_ = os.Remove(l.folder) // the removal fails, as it should, if the folder has another log
}

// Clear removes all logs of the run, including files that killed processes left. Errors are ignored.
func (l *LiveLogs) Clear() { _ = os.RemoveAll(l.folder) }
