package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A session is one command line under way: its streams, and what the flags that
// every command takes ask for.
type session struct {
	Streams
	args  []string // what was typed after the program's name
	json  bool
	quiet bool
	color string // auto, always or never
	// inTTY and outTTY tell whether standard input and output are terminals, before
	// any pager.
	inTTY   bool
	outTTY  bool
	hurry   context.Context // ends with the second signal
	talking sync.Mutex
	halfway bool            // a line on the terminal says how far something is
	warned  map[string]bool // what warn has said
}

// configure reads the flags that every command takes.
func (s *session) configure(c *urfave.Context) error {
	s.json, s.quiet, s.color = c.Bool("json"), c.Bool("quiet"), c.String("color")
	switch s.color {
	case "auto", "always", "never":
		return nil
	}
	return fault.New(fault.Usage, "--color does not take %q", s.color).Hint("it takes auto, always or never")
}

// withStore runs f on the history of the repository in which the command was called.
func (s *session) withStore(ctx context.Context, f func(*timeline.Store) error) error {
	store, err := timeline.Open(ctx, timeline.Options{Dir: s.Dir, Env: s.Env, Now: s.Now, Warn: s.warn})
	if err != nil {
		return err
	}
	return errors.Join(f(store), store.Close()) //nolint:contextcheck // what was begun is finished, also after Ctrl-C
}

// A warningDocument is a warning for scripts.
type warningDocument struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// warn reports what went wrong without harm to stored history, once.
func (s *session) warn(err error) {
	text := plain.OneLine(err.Error())
	if !s.warnsFirst(text) {
		return
	}
	if s.json {
		s.talkJSON(warningDocument{"warning", text})
		return
	}
	s.talk("git-smithers: warning: %s\n", plain.Text(text))
}

// warnsFirst tells whether a warning has not been given yet.
func (s *session) warnsFirst(text string) bool {
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

// note prints a line of talk for people. --quiet silences it, and so does --json,
// with which standard error holds nothing but documents.
func (s *session) note(format string, args ...any) {
	if !s.quiet && !s.json {
		s.talk(format+"\n", args...)
	}
}

// talkJSON writes a document to standard error.
func (s *session) talkJSON(doc any) {
	if text, err := encodeJSON(doc); err == nil {
		s.talk("%s", text)
	}
}

// talk writes to standard error; that nobody can read it is no reason to stop. Safe
// for concurrent use.
func (s *session) talk(format string, args ...any) {
	s.talking.Lock()
	defer s.talking.Unlock()
	s.clear()
	text := fmt.Sprintf(format, args...)
	if !s.json && s.isTTY(s.Err) {
		text = visible(text)
	}
	_, _ = io.WriteString(s.Err, text)
}

// talkHalfway shows, in the place of what it showed before, how far something is, until
// anything else is written. Safe for concurrent use.
func (s *session) talkHalfway(text string) {
	s.talking.Lock()
	defer s.talking.Unlock()
	s.halfway = true
	_, _ = fmt.Fprint(s.Err, clearLine, visible(text))
}

// endHalfway takes away what talkHalfway shows.
func (s *session) endHalfway() {
	s.talking.Lock()
	defer s.talking.Unlock()
	s.clear()
}

// clear is endHalfway for callers that hold talking.
func (s *session) clear() {
	if s.halfway {
		_, _ = fmt.Fprint(s.Err, clearLine)
	}
	s.halfway = false
}

// printf writes data for people and tab-separated lines.
func (s *session) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(s.Out, format, args...)
	return err
}

// writeJSON prints v as one line. Of a stored value it drops white space between
// tokens and nothing else: numbers, strings, keys and their order stay as they were
// written.
func (s *session) writeJSON(v any) error {
	text, err := encodeJSON(v)
	if err != nil {
		return err
	}
	_, err = s.Out.Write(text)
	return err
}

// encodeJSON is v as JSON and a line feed, without escapes for HTML.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// encodeValue is v as JSON, without escapes for HTML.
func encodeValue(v any) (json.RawMessage, error) {
	text, err := encodeJSON(v)
	return bytes.TrimSuffix(text, []byte("\n")), err
}
