package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The limits of a connection.
const (
	maxMessage = 1 << 20 // bytes of a message that is read
	maxCalls   = 64      // that are answered at once
	lingerFor  = 30 * time.Second
)

// A wire is the transport over standard streams, and its one connection: a message a line. Unlike the transport of the SDK, it answers a line
// that is no message, or is too long, with an error, and reads on. When its input ends, it first answers the calls that it has read.
type wire struct {
	in  *bufio.Reader
	out io.Writer

	lines  chan []byte   // what was read; closed at the end of the input
	closed chan struct{} // closed by Close
	once   sync.Once
	writes sync.Mutex

	calls    sync.Mutex
	open     int           // calls without an answer
	answered chan struct{} // has an element after an answer
}

// newWire returns a wire that reads in and writes out.
func newWire(in io.Reader, out io.Writer) *wire {
	return &wire{in: bufio.NewReaderSize(in, 64<<10), out: out, lines: make(chan []byte), closed: make(chan struct{}), answered: make(chan struct{}, 1)}
}

// Connect returns w itself, and begins to read.
func (w *wire) Connect(context.Context) (sdk.Connection, error) {
	go w.readLines()
	return w, nil
}

// SessionID returns "": a process has one session.
func (w *wire) SessionID() string { return "" }

// Close ends Read. It does not close the streams.
func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

// readLines sends the lines of the input. It answers those that are too long itself.
func (w *wire) readLines() {
	defer close(w.lines)
	for {
		line, err := w.readLine()
		if line = bytes.TrimSpace(line); len(line) > 0 {
			select {
			case w.lines <- line:
			case <-w.closed:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// readLine returns the next line, or nil if the line was too long, and was answered.
func (w *wire) readLine() ([]byte, error) {
	var line, tail []byte
	for long := false; ; {
		part, err := w.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxMessage; !long {
			line = append(line, part...)
		} else {
			tail = append(tail[max(0, len(tail)-maxID):], part[max(0, len(part)-maxID):]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if !long {
			return line, err
		}
		w.refuse(idOf(line, tail), jsonrpc.CodeInvalidRequest, "a message has at most 1 MiB")
		return nil, err
	}
}

// maxID is how many bytes at the ends of a long message are searched for its id.
const maxID = 200

// Where clients write the id of a call: before the method, or last. At the end, no quote follows, so that the text is no part of a string.
var (
	idFirst = regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,100}")\s*,`)
	idLast  = regexp.MustCompile(`[{,]\s*"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,100}")\s*\}\s*$`)
)

// idOf returns the id of a call, as JSON, by the beginning and the end of the message; null if it is not there.
func idOf(head, tail []byte) string {
	if found := idFirst.FindSubmatch(head); found != nil {
		return string(found[1])
	}
	if found := idLast.FindSubmatch(tail); found != nil {
		return string(found[1])
	}
	return "null"
}

// refuse answers a message with an error. id is JSON.
func (w *wire) refuse(id string, code int, says string) {
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "error": map[string]any{"code": code, "message": says}})
	if err == nil {
		_ = w.writeLine(text) // if nobody reads, the next answer says so
	}
}

// Read returns the next message. It returns io.EOF if the input has ended and all calls are answered, and after Close.
func (w *wire) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-w.closed:
			return nil, io.EOF
		case line, ok := <-w.lines:
			if !ok {
				return nil, w.linger(ctx)
			}
			if msg := w.decode(line); msg != nil {
				return msg, nil
			}
		}
	}
}

// decode returns the message in a line. It returns nil if it has answered the line: there is no message in it, or too many calls are open.
func (w *wire) decode(line []byte) jsonrpc.Message {
	msg, err := jsonrpc.DecodeMessage(line)
	switch {
	case !json.Valid(line):
		w.refuse("null", jsonrpc.CodeParseError, "this is no JSON")
		return nil
	case err != nil:
		w.refuse(idOf(line, line), jsonrpc.CodeInvalidRequest, "this is no message of JSON-RPC 2.0; batches are not taken")
		return nil
	}
	if call, ok := msg.(*jsonrpc.Request); ok && call.IsCall() && !w.begin() {
		id, _ := json.Marshal(call.ID.Raw()) //nolint:errchkjson // a number or a text
		w.refuse(string(id), jsonrpc.CodeInternalError, "too many calls at once: wait for an answer")
		return nil
	}
	return msg
}

// begin counts a call, and reports whether there may be one more.
func (w *wire) begin() bool {
	w.calls.Lock()
	defer w.calls.Unlock()
	if w.open == maxCalls {
		return false
	}
	w.open++
	return true
}

// linger waits until all calls are answered, and returns io.EOF.
func (w *wire) linger(ctx context.Context) error {
	over := time.NewTimer(lingerFor)
	defer over.Stop()
	for {
		w.calls.Lock()
		open := w.open
		w.calls.Unlock()
		if open == 0 {
			return io.EOF
		}
		select {
		case <-w.answered:
		case <-over.C:
			return io.EOF
		case <-w.closed:
			return io.EOF
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Write writes a message.
func (w *wire) Write(_ context.Context, msg jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	err = w.writeLine(text)
	if _, ok := msg.(*jsonrpc.Response); ok {
		w.calls.Lock()
		w.open--
		w.calls.Unlock()
		select {
		case w.answered <- struct{}{}:
		default:
		}
	}
	return err
}

// writeLine writes a line at once.
func (w *wire) writeLine(text []byte) error {
	w.writes.Lock()
	defer w.writes.Unlock()
	_, err := w.out.Write(append(text, '\n'))
	return err
}
