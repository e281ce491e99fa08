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

// New returns a terminal that reads and writes the streams s. scripted is true if a script reads the output: the
// terminal then prints JSON. After ctx has ended, reads from the terminal's In return the error of ctx.
func New(ctx context.Context, s Streams, scripted bool) *Terminal {
	out := &Terminal{Streams: s, JSON: scripted, InTTY: s.AtTerminal(s.In), OutTTY: s.AtTerminal(s.Out)}
	out.In, out.Out = inputReader{ctx, s.In}, dataWriter{s.Out, out}
	return out
}

// TalksToPerson reports whether a person at a terminal reads notes on standard error.
func (s *Terminal) TalksToPerson() bool { return !s.Quiet && !s.JSON && s.AtTerminal(s.Err) }

// CanAsk reports whether a question can be asked: a person sees standard error at a terminal and can type at standard
// input, and --json is not given.
func (s *Terminal) CanAsk() bool { return !s.JSON && s.InTTY && s.AtTerminal(s.Err) }

// Warn prints err on standard error as a warning. The command continues. If the same message was printed before, Warn
// prints nothing.
func (s *Terminal) Warn(err error) {
	text := plain.OneLine(err.Error())
	if !s.warnsFirst(text) {
		return
	}
	if s.JSON {
		s.TalkJSON(Document("warning", Member("message", text)))
		return
	}
	s.Talk("git-smithers: warning: %s\n", plain.Text(text))
}

// warnsFirst reports whether it is called with this text for the first time. It stores text for later calls.
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

// TalkJSON writes doc to standard error as one line of JSON. If doc cannot be encoded, it writes nothing.
func (s *Terminal) TalkJSON(doc any) {
	if text, err := encodeJSON(doc); err == nil {
		s.Talk("%s", text)
	}
}

// Talk formats a text as fmt.Sprintf does, and writes it to standard error, in place of a progress line. At a terminal,
// it escapes invisible characters. It ignores errors of writing, and is safe for concurrent use.
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

// clear removes the progress line from the terminal, if there is one. The caller must hold s.talking.
func (s *Terminal) clear() {
	if s.halfway {
		_, _ = fmt.Fprint(s.Err, clearLine)
	}
	s.halfway = false
}

// Printf formats a text as fmt.Fprintf does, and writes it to standard output. Use WriteJSON for JSON.
func (s *Terminal) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(s.Out, format, args...)
	return err
}

// WriteJSON prints v to standard output as one line of JSON. If v is a json.RawMessage, WriteJSON removes only the
// white space between its tokens. Numbers, strings, keys and the order of keys stay unchanged.
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
