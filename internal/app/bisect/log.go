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

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/jsontext"
)

// Header is the first line of a log: what was asked.
type Header struct {
	Kind    string   `json:"kind"`   // set by Open
	Bisect  int      `json:"bisect"` // set by Open: the version of the form of the log
	RunID   string   `json:"runId"`
	Command []string `json:"command,omitempty"`
	When    string   `json:"when,omitempty"`
	Repeat  int      `json:"repeat"`
}

// logVersion is Header.Bisect.
const logVersion = 1

// Line is a line of a log: the verdict of a frame.
type Line struct {
	Kind     string  `json:"kind"`   // set by Add
	Frame    string  `json:"frame"`  // the address, for people
	Commit   string  `json:"commit"` // the commit of the frame
	Verdict  Verdict `json:"verdict"`
	Statuses []int   `json:"statuses,omitempty"` // the exit statuses of the probes
	AtMs     int64   `json:"atMs"`
}

// Limits of a log.
const (
	MaxLog   = 16 << 20 // bytes
	maxTexts = 1000     // bytes of a commit or an address
)

// Parse reads a log. A last line without its end was not written as a whole, and is left out.
func Parse(data []byte) (h Header, lines []Line, err error) {
	for n := 1; len(data) > 0; n++ {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if data = rest; !whole {
			break
		}
		if n == 1 {
			if err := json.Unmarshal(line, &h); err != nil || h.Bisect != logVersion {
				return h, nil, fmt.Errorf("line 1 does not begin a log of bisect in the form of version %d", logVersion)
			}
			continue
		}
		var l Line
		err := json.Unmarshal(line, &l)
		known := l.Verdict == Good || l.Verdict == Bad || l.Verdict == Skip || l.Verdict == Flaky
		if err != nil || !known || l.Commit == "" || len(l.Commit)+len(l.Frame) > maxTexts {
			return h, nil, fmt.Errorf("line %d is not a verdict", n)
		}
		lines = append(lines, l)
	}
	if h.Bisect == 0 {
		return h, nil, errors.New("the log is empty")
	}
	return h, lines, nil
}

// Log is the log of a bisect, which other processes cannot write meanwhile. Not safe for concurrent use.
type Log struct {
	file *os.File
	lock *flock.Flock
}

// ErrBusy means that another process writes a log.
var ErrBusy = errors.New("another process writes the log")

// Open opens the log in a file, or begins it, and returns its verdicts. With again, and if it cannot be read, the log begins anew. The error wraps ErrBusy if
// another process has the log open.
func Open(path string, h Header, again bool) (*Log, []Line, error) {
	h.Kind, h.Bisect = "bisect-log", logVersion
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, err
	}
	l := &Log{lock: flock.New(path+".lock", flock.SetPermissions(0o600))}
	switch mine, err := l.lock.TryLock(); {
	case err != nil:
		return nil, nil, err
	case !mine:
		return nil, nil, errors.Join(ErrBusy, l.lock.Close())
	}
	lines, err := l.open(path, h, again)
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, lines, nil
}

// open does the work of Open once the log is locked.
func (l *Log) open(path string, h Header, again bool) ([]Line, error) {
	data, err := Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	_, lines, unread := Parse(data)
	if l.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if !again && unread == nil {
		end := int64(bytes.LastIndexByte(data, '\n') + 1) // the rest was written in part
		_, seek := l.file.Seek(end, io.SeekStart)
		return lines, errors.Join(l.file.Truncate(end), seek)
	}
	if err := errors.Join(l.file.Truncate(0), l.write(h)); err != nil {
		return nil, err
	}
	return nil, fsx.SyncDir(filepath.Dir(path))
}

// Read returns the text of a log of at most MaxLog bytes.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxLog+1))
	if err == nil && len(data) > MaxLog {
		err = fmt.Errorf("%s has more than %d bytes", path, MaxLog)
	}
	return data, errors.Join(err, f.Close())
}

// Add adds a verdict. It is on stable storage afterwards.
func (l *Log) Add(line Line) error {
	line.Kind = "verdict"
	return l.write(line)
}

func (l *Log) write(line any) error {
	text, err := jsontext.Encode(line)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(text, '\n')); err != nil {
		return err
	}
	return l.file.Sync()
}

// Close closes the log, which can be opened again.
func (l *Log) Close() error {
	var err error
	if l.file != nil {
		err = l.file.Close()
	}
	return errors.Join(err, l.lock.Close())
}
