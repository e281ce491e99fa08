package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/git-smithers/git-smithers/internal/lazyregexp"
)

// The limits of a connection.
const (
	maxMessage = 1 << 20          // bytes of a message that is read
	maxCalls   = 64               // that are answered at once
	maxID      = 200              // bytes at the ends of a long message, which are searched for its id
	lingerFor  = 30 * time.Second // at most, to answer calls after the end of the input
)

// A wire is the transport over standard streams, and its one connection: a message a line. Before the transport of the SDK, which ends with the first
// line that is no message, it answers such lines, and those that are too long, with an error. If its input ends, it first answers the calls.
type wire struct {
	sdk.Connection

	in  *bufio.Reader
	out io.Writer

	calls chan struct{} // an element for each call without an answer
	mu    sync.Mutex    // of out
}

// newWire returns a wire that reads in and writes out.
func newWire(in io.Reader, out io.Writer) *wire {
	return &wire{in: bufio.NewReaderSize(in, 64<<10), out: out, calls: make(chan struct{}, maxCalls)}
}

// Connect returns w itself, and begins to read.
func (w *wire) Connect(ctx context.Context) (sdk.Connection, error) {
	messages, pass := io.Pipe()
	go w.filter(pass)
	var err error
	w.Connection, err = (&sdk.IOTransport{Reader: messages, Writer: lineWriter{w}}).Connect(ctx)
	return w, err
}

// Write writes a message.
func (w *wire) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := w.Connection.Write(ctx, msg)
	if _, ok := msg.(*jsonrpc.Response); ok {
		select {
		case <-w.calls:
		default: // an answer to no call
		}
	}
	return err
}

// A lineWriter writes each line at once to the output of a wire.
type lineWriter struct{ *wire }

// Write implements io.Writer.
func (l lineWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(line)
}

// Close does nothing: the output is the process's.
func (lineWriter) Close() error { return nil }

// filter passes the messages of the input on. It closes pass if the input has ended and all calls are answered.
func (w *wire) filter(pass *io.PipeWriter) {
	defer pass.Close() //nolint:errcheck // never fails
	for {
		line, err := w.readLine()
		if line = bytes.TrimSpace(line); len(line) > 0 && w.accepts(line) {
			if _, err := pass.Write(append(line, '\n')); err != nil {
				return
			}
		}
		if err != nil {
			break
		}
	}
	over := time.After(lingerFor)
	for range maxCalls { // there is room for all if no call is open
		select {
		case w.calls <- struct{}{}:
		case <-over:
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
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long:
			w.refuse(idOf(line, tail), jsonrpc.CodeInvalidRequest, "a message has at most 1 MiB")
			return nil, err
		default:
			return line, err
		}
	}
}

// callID matches the id of a call where clients write it: before the method, or last. At the end, no quote follows, so that it is no part of a text.
var callID = lazyregexp.New(`^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,100}")\s*,|[{,]\s*"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,100}")\s*\}\s*$`)

// idOf returns the id of a call, as JSON, by the beginning and the end of the message; null if it is not there.
func idOf(head, tail []byte) string {
	found := callID.FindSubmatch(slices.Concat(head[:min(len(head), maxID)], []byte("\n"), tail))
	if found == nil {
		return "null"
	}
	return string(found[1]) + string(found[2])
}

// accepts reports whether a line is a message that can be passed on. It answers any other line.
func (w *wire) accepts(line []byte) bool {
	msg, err := jsonrpc.DecodeMessage(line)
	call, ok := msg.(*jsonrpc.Request)
	switch {
	case !json.Valid(line):
		w.refuse("null", jsonrpc.CodeParseError, "the line is no JSON")
	case err != nil:
		w.refuse(idOf(line, line), jsonrpc.CodeInvalidRequest, "the line is no message of JSON-RPC 2.0; batches are not taken")
	case !ok || !call.IsCall():
		return true
	default:
		select {
		case w.calls <- struct{}{}:
			return true
		default:
			w.refuse(idOf(line, line), jsonrpc.CodeInternalError, "too many calls at once: wait for an answer")
		}
	}
	return false
}

// refuse answers a message with an error. id is JSON.
func (w *wire) refuse(id string, code int, says string) {
	_, _ = fmt.Fprintf(lineWriter{w}, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n", id, code, says) // if nobody reads, the next answer says so
}
