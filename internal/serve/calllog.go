package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// logPlace is where a client finds its log.
type logPlace struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Salt uint32 `json:"salt"` // the checksum that the first call's continues
}

// callLog is a log of calls. Its client appends to it.
type callLog struct {
	folder string
	name   string
	file   *os.File
	salt   uint32

	at     int64              // the offset up to which this process has read calls
	sum    uint32             // the checksum there
	done   int64              // the offset up to which calls are done, as this process knows it
	values map[channel][]byte // the newest value of each channel that a later call may continue
	ended  bool               // the client appends nothing any more
	told   int64              // the size of the file with refused calls when the client was told last
	late   map[string]bool    // threads that have changed, as the client must hear: see langgraph.Threads.Apply
}

// channel names a channel of a thread.
type channel struct{ thread, ns, name string }

// errNoLog is wrapped by the error about a file that is not a log.
var errNoLog = errors.New("not a log of calls")

// openLog opens a log.
func openLog(folder, name string) (*callLog, error) {
	l := &callLog{folder: folder, name: name, at: headSize}
	file, err := os.OpenFile(l.path(), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	head := make([]byte, headSize)
	if _, err := io.ReadFull(file, head); err != nil || !bytes.HasPrefix(head[saltEnd:], []byte(magic)) {
		return nil, errors.Join(fmt.Errorf("%s: %w", l.path(), errNoLog), file.Close())
	}
	l.file, l.salt = file, binary.LittleEndian.Uint32(head[sumEnd:])
	l.sum = l.salt
	l.readMark()
	if info, err := os.Stat(l.asidePath()); err == nil {
		l.told = info.Size()
	}
	return l, nil
}

func (l *callLog) path() string { return filepath.Join(l.folder, l.name+logSuffix) }

func (l *callLog) place() *logPlace { return &logPlace{l.name, l.path(), l.salt} }

// isWaiting reports whether the log has bytes after the calls that are done, or is so old that it can be removed.
func (l *callLog) isWaiting(now time.Time) bool {
	info, err := l.file.Stat()
	return err == nil && (info.Size() > l.done || now.Sub(info.ModTime()) > logKept)
}

// markOf returns the head of a log whose calls are done up to an offset, without the salt.
func markOf(done int64) []byte {
	mark := binary.LittleEndian.AppendUint64(nil, uint64(done)) //nolint:gosec // an offset is not negative
	return binary.LittleEndian.AppendUint32(mark, crc32.ChecksumIEEE(mark))
}

// readMark reads up to where calls are done. A damaged mark counts as the beginning: a call that is done again changes nothing.
func (l *callLog) readMark() {
	mark := make([]byte, sumEnd)
	_, err := l.file.ReadAt(mark, 0)
	done := int64(binary.LittleEndian.Uint64(mark)) //nolint:gosec // the checksum and the size are checked
	if err == nil && bytes.Equal(mark, markOf(done)) {
		l.done = max(l.done, done)
	}
}

// publish does the calls that wait. durable says that what threads do is on stable storage; otherwise the calls of a durable client are done and
// not marked. The caller has the lock of the logs.
func (l *callLog) publish(ctx context.Context, threads *langgraph.Threads, durable bool) error {
	l.readMark()
	for {
		from := l.at
		batch, err := l.read()
		for _, of := range batch {
			if err == nil {
				err = l.apply(ctx, threads, of)
			}
		}
		switch {
		case err != nil:
			l.at, l.sum, l.values = headSize, l.salt, nil // the next publish reads the log anew
			return err
		case l.at == from:
			return nil
		case l.at > l.done:
			l.done = l.at
			if !durable && strings.HasSuffix(l.name, durableSuffix) {
				continue
			}
			if _, err := l.file.WriteAt(markOf(l.done), 0); err != nil {
				return err
			}
		}
	}
}

// threadSteps are calls about one thread.
type threadSteps struct {
	thread  string
	steps   []langgraph.Step
	records [][]byte // as they are in the log
}

// apply does calls about one thread. A call that is refused is set aside, and the others are done.
func (l *callLog) apply(ctx context.Context, threads *langgraph.Threads, of threadSteps) error {
	late, err := threads.Apply(ctx, of.thread, of.steps)
	if late && err == nil {
		if l.late == nil {
			l.late = make(map[string]bool)
		}
		l.late[of.thread] = true
	}
	if !isRefusal(err) {
		return err
	}
	if len(of.steps) == 1 {
		return l.setAside(of.records[0], err)
	}
	for i := range of.steps {
		if err := l.apply(ctx, threads, threadSteps{of.thread, of.steps[i : i+1], of.records[i : i+1]}); err != nil {
			return err
		}
	}
	return nil
}

// isRefusal reports whether an error is about a call itself, so that the call cannot be done later either.
func isRefusal(err error) bool {
	return slices.Contains([]fault.Code{fault.InvalidInput, fault.InvalidState, fault.InvalidRunID, fault.LimitExceeded, fault.SecretsFound}, fault.CodeOf(err))
}

// refusal is a line of the file with the calls of a log that were refused.
type refusal struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Record  []byte     `json:"record"` // the call
}

// asidePath returns the path of the file with the calls of the log that were refused.
func (l *callLog) asidePath() string { return filepath.Join(l.folder, l.name+".refused") }

// setAside keeps a call that is refused in a file of its own.
func (l *callLog) setAside(record []byte, why error) error {
	line, err := json.Marshal(refusal{fault.CodeOf(why), why.Error(), record})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(l.asidePath(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666) //nolint:gosec // the umask decides who may read the repository
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Sync(), file.Close())
}

// refusals returns an error about the calls that were set aside since it was called last, or nil.
func (l *callLog) refusals() error {
	info, err := os.Stat(l.asidePath())
	if err != nil || info.Size() <= l.told {
		return nil //nolint:nilerr // none was
	}
	data, err := os.ReadFile(l.asidePath())
	if err != nil {
		return err
	}
	lines := bytes.Split(bytes.TrimSpace(data[min(l.told, int64(len(data))):]), []byte("\n"))
	l.told = int64(len(data))
	var first refusal
	if err := json.Unmarshal(lines[0], &first); err != nil {
		return fmt.Errorf("%s: %w", l.asidePath(), err)
	}
	return fault.New(first.Code, "calls that were acknowledged were refused (%d, kept in %s): %s", len(lines), l.asidePath(), first.Message)
}

// read reads the next calls, at most as many as are done together, and returns those that are not done. After the last whole call, it
// reads nothing.
func (l *callLog) read() (batch []threadSteps, err error) {
	for n, size := 0, int64(0); n < mostSteps && size < mostBytes; n++ {
		record, err := l.next()
		if err != nil || record == nil {
			return batch, err
		}
		req, err := parseCall(record)
		if err == nil && req.Method == endOfLog {
			l.ended = true
			return batch, nil
		}
		var thread string
		var step langgraph.Step
		if err == nil {
			thread, step, err = l.step(req)
		}
		if err != nil {
			l.values = nil // what continues the values of this call does not continue older ones
		}
		if l.at <= l.done {
			n--
			continue
		}
		if err != nil {
			if err := l.setAside(record, l.wrong(record, err)); err != nil {
				return nil, err
			}
			continue
		}
		size += step.Size()
		i := slices.IndexFunc(batch, func(of threadSteps) bool { return of.thread == thread })
		if i < 0 {
			i = len(batch)
			batch = append(batch, threadSteps{thread: thread})
		}
		batch[i].steps, batch[i].records = append(batch[i].steps, step), append(batch[i].records, record)
	}
	return batch, nil
}

// endOfLog is the method of the last call in a log: the client has ended, or uses another log.
const endOfLog = "end"

// wrong returns the error about the last call that was read.
func (l *callLog) wrong(record []byte, err error) error {
	return fault.New(fault.InvalidInput, "the call at byte %d: %w", l.at-int64(len(record))-recordHead, err)
}

// next returns the next call as the client wrote it, or nil if there is no whole one.
func (l *callLog) next() ([]byte, error) {
	head := make([]byte, recordHead)
	if _, err := l.file.ReadAt(head, l.at); err != nil {
		return nil, unlessEnd(err)
	}
	n := binary.LittleEndian.Uint32(head)
	if n == 0 || n > maxRecord {
		return nil, nil
	}
	record := make([]byte, n)
	if _, err := l.file.ReadAt(record, l.at+recordHead); err != nil {
		return nil, unlessEnd(err)
	}
	sum := crc32.Update(crc32.Update(l.sum, crc32.IEEETable, head[:4]), crc32.IEEETable, record)
	if sum != binary.LittleEndian.Uint32(head[4:]) {
		return nil, nil
	}
	l.at, l.sum = l.at+recordHead+int64(n), sum
	return record, nil
}

// unlessEnd returns nil for the end of a file.
func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// parseCall returns the call in a record. Its blobs are parts of the record.
func parseCall(record []byte) (*request, error) {
	line, rest, _ := bytes.Cut(record, []byte("\n"))
	req := new(request)
	if err := json.Unmarshal(line, req); err != nil {
		return nil, fmt.Errorf("a call that is not JSON: %w", err)
	}
	for _, n := range req.Blobs {
		if n < 0 || n > int64(len(rest)) {
			return nil, errors.New("a call without all of its bytes")
		}
		req.data = append(req.data, rest[:n:n])
		rest = rest[n:]
	}
	if req.ID == nil {
		return nil, errors.New("a call without a time")
	}
	return req, nil
}

// step returns what a call stores. Values that continue an earlier one are made whole.
func (l *callLog) step(req *request) (thread string, step langgraph.Step, err error) {
	m, found := methods[req.Method]
	if !found {
		return "", step, fault.New(fault.InvalidInput, "a log cannot have the method %q", req.Method)
	}
	c, err := m.decode(req)
	if err != nil {
		return "", step, err
	}
	switch c := c.(type) {
	case *put:
		step.Put, err = l.put(c)
		return c.Thread, step, err
	case changing:
		if w, is := c.change.(*putWrites); is {
			step.Key, step.Writes, step.AtMs = langgraph.Key{NS: w.NS, ID: w.ID}, w.stored(), *req.ID
			return w.Thread, step, nil
		}
	}
	return "", step, fault.New(fault.InvalidInput, "a log cannot have the method %q", req.Method)
}

// put returns a checkpoint whose values are whole.
func (l *callLog) put(p *put) (*langgraph.Put, error) {
	if p.Parent == nil || p.Files {
		return nil, fault.New(fault.InvalidInput, "a log cannot have a put without a parent, or with files")
	}
	out := p.stored()
	for i, v := range p.Sent {
		at, value := channel{p.Thread, p.NS, v.Channel}, out.Sent[v.Channel]
		if v.Base != nil {
			before := l.values[at]
			if v.Base.Length < 0 || v.Base.Length > len(before) {
				return nil, fault.New(fault.InvalidInput, "the log does not have the value of %q that a put continues", v.Channel)
			}
			value.Base, value.Seen = nil, v.Base.Length
			value.Data = slices.Concat(before[:v.Base.Length], p.blobs[i])
			out.Sent[v.Channel] = value
		}
		if l.values == nil {
			l.values = make(map[channel][]byte)
		}
		l.values[at] = value.Data
	}
	return &out, nil
}

// sweep removes a log whose whole calls are done, if it has ended or nothing was added for long.
func (l *callLog) sweep(now time.Time) {
	if info, err := l.file.Stat(); err == nil && (l.ended || now.Sub(info.ModTime()) > logKept) {
		_ = os.Remove(l.path())
	}
}
