// Package term reads and writes for commands: data, messages, tables, colour, a pager and progress, for people at a
// terminal and for scripts.
package term

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// A Terminal has the streams of one command, and how people and scripts want to read them.
type Terminal struct {
	Streams

	JSON  bool   // a script reads: write only documents
	Quiet bool   // progress is not shown
	Color string // auto, always or never
	// InTTY and OutTTY report whether standard input and output are terminals, before
	// any pager.
	InTTY  bool
	OutTTY bool

	talking sync.Mutex
	halfway bool            // a line of progress is on the terminal
	warned  map[string]bool // the warnings so far
}

// New returns the terminal of the streams s. If scripted is true, a script reads, and JSON is set. When ctx ends, a
// read from the terminal's In returns the error of ctx.
func New(ctx context.Context, s Streams, scripted bool) *Terminal {
	out := &Terminal{Streams: s, JSON: scripted, InTTY: s.AtTerminal(s.In), OutTTY: s.AtTerminal(s.Out)}
	out.In, out.Out = inputReader{ctx, s.In}, dataWriter{s.Out, out}
	return out
}

// TalksToPerson reports whether a person at a terminal reads notes on standard error.
func (s *Terminal) TalksToPerson() bool { return !s.Quiet && !s.JSON && s.AtTerminal(s.Err) }

// CanAsk reports whether a person at a terminal can answer a question.
func (s *Terminal) CanAsk() bool { return !s.JSON && s.InTTY && s.AtTerminal(s.Err) }

// A warningDocument is the JSON document of a warning.
type warningDocument struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Warn prints an error on standard error as a warning: the command continues. It prints each message once.
func (s *Terminal) Warn(err error) {
	text := plain.OneLine(err.Error())
	if !s.warnsFirst(text) {
		return
	}
	if s.JSON {
		s.TalkJSON(warningDocument{"warning", text})
		return
	}
	s.Talk("git-smithers: warning: %s\n", plain.Text(text))
}

// warnsFirst reports whether text is the first warning with this text, and remembers it.
func (s *Terminal) warnsFirst(text string) bool {
	s.talking.Lock()
	defer s.talking.Unlock()
	if s.warned[text] {
		return false
	}
	if s.warned == nil {
		s.warned = make(map[string]bool)
	}
	s.warned[text] = true
	return true
}

// Note prints a line for people on standard error. It prints nothing with --quiet or --json; with --json, standard
// error has only documents.
func (s *Terminal) Note(format string, args ...any) {
	if !s.Quiet && !s.JSON {
		s.Talk(format+"\n", args...)
	}
}

// TalkJSON writes doc to standard error as a line of JSON.
func (s *Terminal) TalkJSON(doc any) {
	if text, err := encodeJSON(doc); err == nil {
		s.Talk("%s", text)
	}
}

// Talk writes to standard error, and ignores errors of writing. It is safe for concurrent use.
func (s *Terminal) Talk(format string, args ...any) {
	s.talking.Lock()
	defer s.talking.Unlock()
	s.clear()
	text := fmt.Sprintf(format, args...)
	if !s.JSON && s.AtTerminal(s.Err) {
		text = visible(text)
	}
	_, _ = io.WriteString(s.Err, text)
}

// TalkHalfway shows text as a line of progress, in place of the previous line of progress. The next output removes the
// line. TalkHalfway is safe for concurrent use.
func (s *Terminal) TalkHalfway(text string) {
	s.talking.Lock()
	defer s.talking.Unlock()
	s.halfway = true
	_, _ = fmt.Fprint(s.Err, clearLine, visible(text))
}

// EndHalfway removes the line of progress from the terminal, if there is one.
func (s *Terminal) EndHalfway() {
	s.talking.Lock()
	defer s.talking.Unlock()
	s.clear()
}

// clear removes the line of progress. The caller must hold talking.
func (s *Terminal) clear() {
	if s.halfway {
		_, _ = fmt.Fprint(s.Err, clearLine)
	}
	s.halfway = false
}

// Printf writes data that is not JSON to standard output.
func (s *Terminal) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(s.Out, format, args...)
	return err
}

// WriteJSON prints v as one line of JSON. From a json.RawMessage, it removes only white space between the tokens:
// numbers, strings, keys and their order stay unchanged.
func (s *Terminal) WriteJSON(v any) error {
	text, err := encodeJSON(v)
	if err != nil {
		return err
	}
	_, err = s.Out.Write(text)
	return err
}

// encodeJSON returns v as JSON and a line feed, without escapes for HTML.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// EncodeValue returns v as JSON on one line, without a line feed and without escapes for HTML.
func EncodeValue(v any) (json.RawMessage, error) {
	text, err := encodeJSON(v)
	return bytes.TrimSuffix(text, []byte("\n")), err
}
