package cli

import (
	"bytes"
	"encoding/json"
	"errors"
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
	data, source, err := s.inputBytes(c.String("input"))
	if err != nil {
		return nil, err
	}
	data = bytes.TrimSpace(data)
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

func (s *session) inputBytes(value string) (data []byte, source string, err error) {
	if value == "-" {
		data, err := s.readStdin(snapshot.DefaultValue)
		return data, "standard input", err
	}
	name, ok := strings.CutPrefix(value, "@")
	if !ok {
		return []byte(value), "--input", nil
	}
	data, err = os.ReadFile(s.path(name))
	if err != nil {
		return nil, "", fault.New(fault.InvalidInput, "read --input: %w", err).Hint("%s", inputHint)
	}
	return data, name, nil
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
