package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// inputFlag is --input of the commands that take an input.
func inputFlag(usage string) urfave.Flag {
	return &urfave.StringFlag{Name: "input", Aliases: []string{"i"}, Usage: usage}
}

// readInput reads what --input means. It is nil when the flag was not given.
func (s *session) readInput(c *urfave.Context) (json.RawMessage, error) {
	if !c.IsSet("input") {
		return nil, nil
	}
	return s.readValue(c.Context, valueArgument{"--input", c.String("input"), `--input '{"ticket":"T-12"}'`})
}

// A valueArgument is a JSON value as a command line gives it: JSON, "@" and a file, or
// "-" for standard input.
type valueArgument struct {
	name    string // as messages call it
	text    string
	example string
}

func (a valueArgument) hint() string {
	return a.name + " takes JSON, @<file>, or - for standard input, for example " + a.example
}

// readValue reads a JSON value. Bytes are kept as they are, but for white space around
// the value.
func (s *session) readValue(ctx context.Context, arg valueArgument) (json.RawMessage, error) {
	data, source, err := s.valueBytes(ctx, arg)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimSpace(data)
	// The store's own limits are looked at when the value is stored.
	deepest := snapshot.Limits{Depth: math.MaxInt}
	if err := deepest.CheckSize(data); err != nil {
		return nil, fault.New(fault.LimitExceeded, "%s: %w", source, err).Hint("`git smithers help format` lists the limits")
	}
	var probe json.RawMessage
	if err := json.Unmarshal(data, &probe); err != nil {
		return nil, notJSON(source, err).Hint("%s", arg.hint())
	}
	return data, nil
}

func notJSON(source string, err error) *fault.Error {
	out := fault.New(fault.InvalidInput, "%s is not JSON: %w", source, err)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		out = out.Detail("offset", syntax.Offset)
	}
	return out
}

func (s *session) valueBytes(ctx context.Context, arg valueArgument) (data []byte, source string, err error) {
	if arg.text == "-" {
		data, err := s.ReadStdin(snapshot.DefaultValue)
		return data, "standard input", err
	}
	name, ok := strings.CutPrefix(arg.text, "@")
	if !ok {
		return []byte(arg.text), arg.name, nil
	}
	data, err = s.folder().ReadFile(ctx, name, snapshot.DefaultValue)
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	if err != nil {
		return nil, "", fault.New(fault.InvalidInput, "read %s: %w", arg.name, err).Hint("%s", arg.hint())
	}
	if len(data) > snapshot.DefaultValue {
		return nil, "", fault.New(fault.LimitExceeded, "%s is longer than %d bytes", name, snapshot.DefaultValue).
			Hint("`git smithers help format` lists the limits")
	}
	return data, name, nil
}

// path is a file that the command line names.
func (s *session) path(name string) string {
	return s.folder().Path(name)
}

// newRunID reads --run-id of the commands that make a run; "" when it was not given.
func newRunID(c *urfave.Context) (string, error) {
	id := c.String("run-id")
	if id == "" && c.IsSet("run-id") {
		return "", fault.New(fault.InvalidRunID, "the run id is empty").Hint("leave out --run-id to get one made up")
	}
	return id, nil
}

// noteEscaped says under which name git knows a run whose id no ref can have as it stands.
func (s *session) noteEscaped(id string) {
	if name, err := refs.Tip(id); err == nil && !strings.HasSuffix(string(name), "/"+id) {
		s.Note("in git, run %s is called %s", fault.Word(plain.Text(id)), name)
	}
}
