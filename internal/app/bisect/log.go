package bisect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/jsontext"
)

// Line is a line of a log: the first says what was asked, each other one is the verdict of a frame.
type Line struct {
	Kind    string   `json:"kind"` // bisect-log or verdict
	RunID   string   `json:"runId,omitempty"`
	Command []string `json:"command,omitempty"`
	When    string   `json:"when,omitempty"`
	Repeat  int      `json:"repeat,omitempty"`

	Frame    string  `json:"frame,omitempty"`  // the address, for people
	Commit   string  `json:"commit,omitempty"` // of the frame
	Verdict  Verdict `json:"verdict,omitempty"`
	Statuses []int   `json:"statuses,omitempty"` // the exit statuses of the probes
	AtMs     int64   `json:"atMs"`
}

// The values of Line.Kind.
const (
	kindAsked   = "bisect-log"
	kindVerdict = "verdict"
)

// Parse returns the verdicts of a log. A last line without its end was not written as a whole, and is left out.
func Parse(data []byte) (lines []Line, err error) {
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if data = rest; !whole {
			return lines, nil
		}
		var l Line
		err := json.Unmarshal(line, &l)
		switch known := l.Verdict == Good || l.Verdict == Bad || l.Verdict == Skip || l.Verdict == Flaky; {
		case err == nil && n == 1 && l.Kind == kindAsked:
		case err == nil && n > 1 && l.Kind == kindVerdict && known && l.Commit != "":
			lines = append(lines, l)
		default:
			return nil, fmt.Errorf("line %d is not one of a log of bisect", n)
		}
	}
}

// Log is the log of a bisect, which other processes cannot write meanwhile. A nil Log keeps nothing. Not safe for concurrent use.
type Log struct {
	file *os.File
	lock *flock.Flock
}

// ErrBusy means that another process writes a log.
var ErrBusy = errors.New("another process writes the log")

// Open opens the log in a file, or begins it with what is asked, and returns its verdicts. With again, and if it cannot be read, the log begins anew. The error
// wraps ErrBusy if another process has the log open.
func Open(path string, asked Line, again bool) (l *Log, lines []Line, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil { //nolint:gosec // the umask decides who may read the repository
		return nil, nil, err
	}
	l = &Log{lock: flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o666))}
	mine, err := l.lock.TryLock()
	if err == nil && !mine {
		err = ErrBusy
	}
	if err == nil {
		l.file, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(l.file)
	}
	end := bytes.LastIndexByte(data, '\n') + 1 // the rest was written in part
	lines, unread := Parse(data[:end])
	if again || unread != nil {
		end, lines = 0, nil
	}
	if err == nil {
		_, err = l.file.Seek(int64(end), io.SeekStart)
		err = errors.Join(err, l.file.Truncate(int64(end)))
	}
	if err == nil && end == 0 {
		asked.Kind = kindAsked
		err = errors.Join(l.write(asked), fsx.SyncDir(filepath.Dir(path)))
	}
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, lines, nil
}

// Last returns the log of a run that was written last, of those in a folder; nil if there is none.
func Last(dir, run string) (last []byte, err error) {
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var newest time.Time
	for _, entry := range found {
		info, infoErr := entry.Info()
		data, readErr := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err = errors.Join(err, infoErr, readErr); err != nil {
			return nil, err
		}
		var asked Line
		head, _, _ := bytes.Cut(data, []byte("\n"))
		if json.Unmarshal(head, &asked) == nil && asked.RunID == run && !info.ModTime().Before(newest) {
			newest, last = info.ModTime(), data
		}
	}
	return last, err
}

// Add adds a verdict. It is on stable storage afterwards.
func (l *Log) Add(line Line) error {
	if l == nil {
		return nil
	}
	line.Kind = kindVerdict
	return l.write(line)
}

func (l *Log) write(line Line) error {
	text, err := jsontext.Encode(line)
	if err == nil {
		_, err = l.file.Write(append(text, '\n'))
	}
	return errors.Join(err, l.file.Sync())
}

// Close closes the log, which can be opened again.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	var err error
	if l.file != nil {
		err = l.file.Close()
	}
	return errors.Join(err, l.lock.Close())
}
