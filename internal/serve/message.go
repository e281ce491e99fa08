package serve

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The limits of a message.
const (
	maxHeader = 64 << 20       // bytes of the line
	maxBytes  = page.MaxValue  // bytes of all blobs
	maxBlobs  = 1 << 16        // blobs
	headroom  = 64 << 10       // bytes of the buffer of a stream
	skipStep  = int64(1) << 20 // bytes that are read at once of a blob that is too large
)

// request is a call: a line of JSON and the blobs that it announces.
type request struct {
	ID     *int64          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Blobs  []int64         `json:"blobs"`

	data [][]byte // the blobs
	size int64    // bytes of the whole message
}

// answer is the line of an answer. Exactly one of Result and Error is set.
type answer struct {
	ID     *int64      `json:"id"`
	Result any         `json:"result,omitempty"`
	Error  *errorReply `json:"error,omitempty"`
	Blobs  []int       `json:"blobs"`
}

// errorReply is the error of an answer.
type errorReply struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Hints   []string   `json:"hints"`
}

// errBroken is wrapped by an error after which the place in a stream is lost.
var errBroken = errors.New("the stream cannot be read on")

// readRequest reads a call. At the end of the stream, also within a message, the error is io.EOF. If the call is whole but
// invalid, the result and the error are both set, and the stream goes on after the call.
func readRequest(r *bufio.Reader) (*request, error) {
	line, err := readLine(r)
	if err != nil {
		return nil, err
	}
	req := &request{size: int64(len(line))}
	if err := json.Unmarshal(line, req); err != nil {
		return nil, broken("the line of a call is not the JSON of a call: %v", err)
	}
	total := int64(0)
	for _, n := range req.Blobs {
		if n < 0 || total > math.MaxInt64-n {
			return req, broken("a blob cannot have %d bytes", n)
		}
		total += n
	}
	if total > maxBytes || len(req.Blobs) > maxBlobs {
		if err := skip(r, total); err != nil {
			return nil, err
		}
		return req, fault.New(fault.LimitExceeded, "the call has %d blobs with %d bytes, the maximum is %d with %d", len(req.Blobs), total, maxBlobs, int64(maxBytes))
	}
	req.size += total
	for _, n := range req.Blobs {
		blob := make([]byte, n)
		if _, err := io.ReadFull(r, blob); err != nil {
			return nil, ended(err)
		}
		req.data = append(req.data, blob)
	}
	return req, nil
}

// readLine reads a line without its LF.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxHeader:
			return nil, broken("the line of a call has more than %d bytes", maxHeader)
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, ended(err)
		}
	}
}

// skip reads bytes and forgets them.
func skip(r *bufio.Reader, n int64) error {
	for n > 0 {
		step, err := io.CopyN(io.Discard, r, min(n, skipStep))
		if err != nil {
			return ended(err)
		}
		n -= step
	}
	return nil
}

// ended returns io.EOF for an end within a message: the client is gone.
func ended(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return err
}

// broken returns the error about a call after which the place in the stream is lost.
func broken(format string, args ...any) error {
	err := fault.New(fault.InvalidInput, "%s", fmt.Sprintf(format, args...))
	err.Err = errBroken
	return err
}

// write writes an answer and its blobs.
func (a answer) write(w *bufio.Writer, blobs [][]byte) error {
	a.Blobs = make([]int, len(blobs))
	for i, blob := range blobs {
		a.Blobs[i] = len(blob)
	}
	line, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	_, _ = w.Write(line)
	_ = w.WriteByte('\n')
	for _, blob := range blobs {
		_, _ = w.Write(blob)
	}
	return w.Flush() // which returns the first error of the writer
}
