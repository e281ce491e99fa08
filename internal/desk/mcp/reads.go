package mcp

import (
	"cmp"
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An input names the command that answers it, and where the page begins.
type input interface {
	command() command
	from() string
}

// Paged is embedded by inputs whose answers have pages.
type Paged struct {
	Cursor string `json:"cursor,omitempty" jsonschema:"the cursor that the page before has named, to read on"`
}

func (p Paged) from() string { return p.Cursor }

type statusInput struct{ Paged }

func (statusInput) command() command { return line("status") }

type timelineInput struct {
	Run   string `json:"run,omitempty" jsonschema:"a run, or a unique prefix of its id; @ is the newest and the default, @session the newest session of an agent"`
	All   bool   `json:"all,omitempty" jsonschema:"also frames that a travel, a reset or an undo has stepped over"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many of the newest frames; all by default"`
	Paged
}

func (in timelineInput) command() command {
	return line("timeline", opt("--all", in.All), opt("--limit", in.Limit), "--", cmp.Or(in.Run, "@"))
}

type showInput struct {
	At       string `json:"at" jsonschema:"RUN shows how it stands, RUN:FRAME the state of a frame, RUN:turn:N the frame of a prompt"`
	Attempts bool   `json:"attempts,omitempty" jsonschema:"every attempt, with its whole log"`
	Patch    bool   `json:"patch,omitempty" jsonschema:"what the frame has changed, in state and files"`
	Paged
}

func (in showInput) command() command {
	c := line("show", opt("--attempts", in.Attempts), opt("--patch", in.Patch), "--", in.At)
	c.page = !in.Attempts && !in.Patch && !strings.Contains(in.At, ":")
	return c
}

type diffInput struct {
	From  string `json:"from" jsonschema:"RUN:FRAME or RUN; without to, it is compared with the frame before it"`
	To    string `json:"to,omitempty" jsonschema:"RUN:FRAME or RUN"`
	Path  string `json:"path,omitempty" jsonschema:"only this file or folder"`
	Stat  bool   `json:"stat,omitempty" jsonschema:"only the numbers of changed lines"`
	State bool   `json:"state,omitempty" jsonschema:"compare the state (steps, results, prompts and answers) in place of files"`
	Paged
}

func (in diffInput) command() command {
	if in.State {
		return line("diff", "--", in.From, in.To)
	}
	c := line("diff", "--code", opt("--stat", in.Stat), "--", in.From, in.To)
	if in.Path != "" {
		c.args = append(c.args, "--", in.Path)
	}
	return c
}

type whoInput struct {
	Path     string `json:"path" jsonschema:"the file"`
	Lines    string `json:"lines,omitempty" jsonschema:"a range as git blame takes it: 10,20 or 10,+5 or :function"`
	Revision string `json:"revision,omitempty" jsonschema:"the file at RUN:FRAME or a commit; by default as it is now"`
	Paged
}

func (in whoInput) command() command {
	c := line("blame", opt("--lines", in.Lines), "--", in.Path, in.Revision)
	c.path = in.Path
	return c
}

type searchInput struct {
	Text  string `json:"text,omitempty" jsonschema:"what to look for: all words must be there, case does not count"`
	Regex string `json:"regex,omitempty" jsonschema:"a regular expression, in place of text"`
	In    string `json:"in,omitempty" jsonschema:"only these kinds, with commas: prompts, answers, calls, results, code, logs and others"`
	Run   string `json:"run,omitempty" jsonschema:"only this run"`
	Since string `json:"since,omitempty" jsonschema:"only since a time, such as 7d or 2026-11-30"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many hits"`
	Paged
}

func (in searchInput) command() command {
	return line("search", opt("--regex", in.Regex), opt("--in", in.In), opt("--run", in.Run), opt("--since", in.Since), opt("--limit", in.Limit), "--", in.Text)
}

// addReads adds the tools that change nothing.
func (s *server) addReads(to *sdk.Server) {
	addRead[statusInput](s, to, "status", "Which runs and sessions there are: what runs, waits for somebody or has failed, and the newest.")
	addRead[timelineInput](s, to, "timeline", "The frames of a run or session in order: number, time, changed lines, and what happened.")
	addRead[showInput](s, to, "show", "How a run or session stands, with its turns or steps; or the state of a frame, or what the frame has changed.")
	addRead[diffInput](s, to, "diff", "What differs between two frames: the lines of files as git diff prints them, or the state.")
	addRead[whoInput](s, to, "who_changed", "Which prompt, step or commit has written each line of a file.")
	addRead[searchInput](s, to, "search", "Texts in all frames of all runs: prompts, answers, calls of tools and their results, files, logs.")
}

// addRead adds a tool that runs a command and changes nothing.
func addRead[In input](s *server, to *sdk.Server, name, does string) {
	addTool(to, name, does, &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}, func(ctx context.Context, _ *sdk.CallToolRequest, in In) *sdk.CallToolResult {
		return s.read(ctx, in.command(), in.from())
	})
}

// addTool adds a tool that reads and changes nothing outside of this machine.
func addTool[In any](to *sdk.Server, name, does string, hints *sdk.ToolAnnotations, do func(context.Context, *sdk.CallToolRequest, In) *sdk.CallToolResult) {
	hints.OpenWorldHint = new(false)
	sdk.AddTool(to, &sdk.Tool{Name: name, Description: does, Annotations: hints}, func(ctx context.Context, req *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
		return do(ctx, req, in), nil, nil
	})
}
