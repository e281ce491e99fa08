package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// inputFlag is --input of the commands that take an input.
func inputFlag(usage string) urfave.Flag {
	return &urfave.StringFlag{Name: "input", Aliases: []string{"i"}, Usage: usage}
}

// readInput reads what --input means: JSON, "@" and a file, or "-" for standard
// input. It is nil when the flag was not given. Bytes are kept as they are, but for
// white space around the value.
func (s *session) readInput(c *urfave.Context) (json.RawMessage, error) {
	if !c.IsSet("input") {
		return nil, nil
	}
	data, source, err := s.inputBytes(c.Context, c.String("input"))
	if err != nil {
		return nil, err
	}
	data = bytes.TrimSpace(data)
	// The store's own limits are looked at when the input is stored.
	deepest := snapshot.Limits{Depth: math.MaxInt}
	if err := deepest.CheckSize(data); err != nil {
		return nil, fault.New(fault.LimitExceeded, "%s: %w", source, err).Hint("docs/format.md lists the limits")
	}
	var probe json.RawMessage
	if err := json.Unmarshal(data, &probe); err != nil {
		return nil, notJSON(source, err)
	}
	return data, nil
}

const inputHint = `--input takes JSON, @<file>, or - for standard input, for example --input '{"ticket":"T-12"}'`

func notJSON(source string, err error) error {
	out := fault.New(fault.InvalidInput, "%s is not JSON: %w", source, err).
		Hint("%s", inputHint)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		out = out.Detail("offset", syntax.Offset)
	}
	return out
}

func (s *session) inputBytes(ctx context.Context, value string) (data []byte, source string, err error) {
	if value == "-" {
		data, err := s.readStdin(snapshot.DefaultValue)
		return data, "standard input", err
	}
	name, ok := strings.CutPrefix(value, "@")
	if !ok {
		return []byte(value), "--input", nil
	}
	data, err = s.readFile(ctx, name, snapshot.DefaultValue)
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	if err != nil {
		return nil, "", fault.New(fault.InvalidInput, "read --input: %w", err).Hint("%s", inputHint)
	}
	if len(data) > snapshot.DefaultValue {
		return nil, "", fault.New(fault.LimitExceeded, "%s is longer than %d bytes", name, snapshot.DefaultValue).
			Hint("docs/format.md lists the limits")
	}
	return data, name, nil
}

// readFile reads a file that the command line names, and no more than one byte
// beyond limit. The file may be a pipe, which an interrupt does not have to wait for.
func (s *session) readFile(ctx context.Context, name string, limit int) ([]byte, error) {
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		file, err := os.Open(s.path(name))
		if err != nil {
			done <- read{nil, err}
			return
		}
		data, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
		done <- read{data, errors.Join(err, file.Close())}
	}()
	select {
	case got := <-done:
		return got.data, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// path is a file that the command line names.
func (s *session) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Dir, name)
}

// newRunID reads --run-id of the commands that make a run; "" when it was not given.
func newRunID(c *urfave.Context) (string, error) {
	id := c.String("run-id")
	if id == "" && c.IsSet("run-id") {
		return "", fault.New(fault.InvalidRunID, "the run id is empty").Hint("leave out --run-id to get one made up")
	}
	return id, nil
}
