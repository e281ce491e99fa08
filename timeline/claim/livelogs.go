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
	// liveLogsFolder holds a folder for each run, and in it a file for each log, under
	// the store's private one.
	liveLogsFolder = "logs"
	// liveLogHeader is the size of what a log's file begins with: how many bytes of the
	// log were before those that it keeps, in decimal digits and a line feed.
	liveLogHeader = 21
	// liveLogAttempts bounds the making of a log's file against others that remove the
	// folder because it is empty.
	liveLogAttempts = 10
)

// LiveLogs are the logs of a run's attempts that have not ended, as files in the
// store's private folder. When an attempt ends its log goes into the journal, and
// the file away. Attempts are named by their keys, see snapshot.AttemptKey.
// Safe for concurrent use.
type LiveLogs struct{ folder string }

// LiveLogsOf are those of a run.
func LiveLogsOf(s *timeline.Store, run string) *LiveLogs {
	return &LiveLogs{filepath.Join(s.Repo().CommonDir, timeline.PrivateDir, liveLogsFolder, fileName(run))}
}

// fileName is the name of a file or folder for what may have any name; see refs.EscapeRun.
func fileName(name string) string {
	escaped, err := refs.EscapeRun(name)
	if err != nil {
		return "_" // the empty name's, which no other name has
	}
	return escaped
}

func (l *LiveLogs) path(attempt string) string { return filepath.Join(l.folder, fileName(attempt)) }

// Open begins the log of an attempt. The file keeps about the last limit bytes. The
// writer is for one goroutine; writing never fails: from the first trouble with the
// disk on, nothing more is kept.
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

// newLiveLog makes the file of a log that keeps what comes after start bytes, beginning
// with kept, in place of the one that is there. It is at its end.
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

// Last is what the log of an attempt has, as text, with a first line that says how much
// is missing; "" where there is none.
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

// missing is the line that stands for bytes that a log does not keep.
func missing(bytes int64) string {
	if bytes <= 0 {
		return ""
	}
	return fmt.Sprintf("[%d bytes before this are not kept]\n", bytes)
}

// Remove takes the log of an attempt away.
func (l *LiveLogs) Remove(attempt string) {
	// A log that stays is taken for an attempt's that has not ended, and removed with
	// the next one of that name.
	_ = os.Remove(l.path(attempt))
	_ = os.Remove(l.folder) // another log in it keeps it
}

// Clear takes all logs of the run away, and what processes that were killed left of them.
func (l *LiveLogs) Clear() { _ = os.RemoveAll(l.folder) }
