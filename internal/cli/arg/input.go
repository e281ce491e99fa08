package arg

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// InputFlag returns the flag --input for a command that takes an input. usage is the text that help shows for the flag.
func InputFlag(usage string) urfave.Flag {
	return &urfave.StringFlag{Name: "input", Aliases: []string{"i"}, Usage: usage}
}

// ReadInput returns the JSON value of the flag --input, or nil if the flag was not given. The errors are those of
// ReadValue.
func ReadInput(s *session.Session, c *urfave.Context) (json.RawMessage, error) {
	if !c.IsSet("input") {
		return nil, nil
	}
	return ReadValue(c.Context, s, Value{Name: "--input", Text: c.String("input"), Example: `--input '{"ticket":"T-12"}'`})
}

// A Value is a JSON value as the command line gives it: JSON, "@" and a file, or "-" for standard input.
type Value struct {
	Name    string // the name of the value in messages
	Text    string // the value as it was typed
	Example string // how to type the value, for a hint; "" if it is the content of a file
}

// hint returns a sentence that says how to type the value.
func (v Value) hint() string {
	if v.Example == "" {
		return v.Name + " takes a file, or - for standard input"
	}
	return v.Name + " takes JSON, @<file>, or - for standard input, for example " + v.Example
}

// ReadValue returns the JSON value that v describes, without the white space around it and otherwise unchanged. The
// error is invalid_input if the value is not JSON or cannot be read. The error is limit_exceeded if the value is too
// long.
func ReadValue(ctx context.Context, s *session.Session, v Value) (json.RawMessage, error) {
	data, source, err := valueBytes(ctx, s, v)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimSpace(data)
	// The depth has no limit here: the store checks its own limits when it stores the value.
	deepest := snapshot.Limits{Depth: math.MaxInt}
	if err := deepest.CheckSize(data); err != nil {
		return nil, fault.New(fault.LimitExceeded, "%s: %w", source, err).Hint("`git smithers help format` lists the limits")
	}
	var probe json.RawMessage
	if err := json.Unmarshal(data, &probe); err != nil {
		return nil, notJSON(source, err).Hint("%s", v.hint())
	}
	return data, nil
}

// notJSON returns invalid_input for a value that is not JSON. source names where the value was read. err is the error
// of the json package; for a syntax error, its offset becomes a detail.
func notJSON(source string, err error) *fault.Error {
	out := fault.New(fault.InvalidInput, "%s is not JSON: %w", source, err)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		out = out.Detail("offset", syntax.Offset)
	}
	return out
}

// valueBytes reads the bytes of the value that v describes. source names where the bytes were read, for messages. The
// error is invalid_input if a file cannot be read, and limit_exceeded if a file is too long.
func valueBytes(ctx context.Context, s *session.Session, v Value) (data []byte, source string, err error) {
	if v.Text == "-" {
		data, err := s.ReadStdin(snapshot.DefaultValue)
		return data, "standard input", err
	}
	name, ok := strings.CutPrefix(v.Text, "@")
	if !ok {
		return []byte(v.Text), v.Name, nil
	}
	data, err = s.Folder().ReadFile(ctx, name, snapshot.DefaultValue)
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	if err != nil {
		return nil, "", fault.New(fault.InvalidInput, "read %s: %w", v.Name, err).Hint("%s", v.hint())
	}
	if len(data) > snapshot.DefaultValue {
		return nil, "", fault.New(fault.LimitExceeded, "%s is longer than %d bytes", name, snapshot.DefaultValue).
			Hint("`git smithers help format` lists the limits")
	}
	return data, name, nil
}

// ReadText returns the content of a file, or of standard input if file is "-". name is that of the flag. Codes: invalid_input if it cannot be read;
// limit_exceeded if it is too long.
func ReadText(ctx context.Context, s *session.Session, name, file string) ([]byte, error) {
	text := "@" + file
	if file == "-" {
		text = file
	}
	data, _, err := valueBytes(ctx, s, Value{Name: name, Text: text})
	return data, err
}

// NewRunID returns the value of a flag with the id of a new run. It returns "" if the flag was not given. The error is
// invalid_run_id if the flag was given with an empty value.
func NewRunID(c *urfave.Context, flag string) (string, error) {
	id := c.String(flag)
	if id == "" && c.IsSet(flag) {
		return "", fault.New(fault.InvalidRunID, "the run id is empty").Hint("leave out --%s to get a generated id", flag)
	}
	return id, nil
}

// groupIDs matches the ids of groups that people can type without quotation marks, with the number of a variant behind them.
var groupIDs = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// NewGroupID is NewRunID for the id of a group.
func NewGroupID(c *urfave.Context, flag string) (string, error) {
	id, err := NewRunID(c, flag)
	if err != nil || id == "" || groupIDs.MatchString(id) {
		return id, err
	}
	better := strings.Trim(otherThanID.ReplaceAllString(id, "-"), "-.")
	return "", fault.New(fault.InvalidRunID, "%q cannot be the id of a group", id).
		Hint("an id has letters, digits, full stops, hyphens and underscores: for example --%s %s", flag, cmp.Or(better, "tests-first"))
}

// otherThanID matches what the id of a group cannot have.
var otherThanID = lazyregexp.New(`[^A-Za-z0-9._-]+`)

// EditFlags returns the flags --set and --unset. ReadEdits returns their values.
func EditFlags() []urfave.Flag {
	return []urfave.Flag{
		TextsFlag("set", "set `PATH=VALUE` in the result of a task, and reset the tasks that need the task (can be repeated)"),
		TextsFlag("unset", "remove the value at `PATH` from the result of a task (can be repeated)"),
	}
}

// ReadEdits returns the edits of the flags --set and then those of --unset. A value of --set is JSON or, if it is not, a text; "@" and a file, and "-" for
// standard input, are as in ReadValue. The error is invalid_input or limit_exceeded if a value cannot be read, and usage if a value of --set has no "=".
func ReadEdits(s *session.Session, c *urfave.Context) ([]timeline.Edit, error) {
	var edits []timeline.Edit
	for _, text := range Texts(c, "set") {
		_, rest, err := jsontext.ParsePath(text)
		if err == nil && rest == "" {
			return nil, fault.New(fault.Usage, "--set %s has no value", text).Hint("type `--set %s`, or --unset to remove what is there", fault.Word(text+"=VALUE"))
		}
		path := strings.TrimSuffix(text, rest)
		if err != nil { // Fork refuses the path
			path, rest = text, "=null"
		}
		data, _, err := valueBytes(c.Context, s, Value{Name: "--set", Text: rest[1:], Example: "--set " + fault.Word(path+"=@FILE")})
		if err != nil {
			return nil, err
		}
		value := json.RawMessage(bytes.TrimSpace(data))
		switch {
		case !utf8.Valid(data):
			return nil, fault.New(fault.InvalidInput, "--set %s: the value is not valid UTF-8", path).Hint("give JSON, or a text in UTF-8")
		case !jsontext.Valid(value):
			value, _ = jsontext.Encode(string(data)) // a text has JSON
		}
		edits = append(edits, timeline.Edit{Path: path, Value: value})
	}
	for _, path := range Texts(c, "unset") {
		edits = append(edits, timeline.Edit{Path: path})
	}
	return edits, nil
}
