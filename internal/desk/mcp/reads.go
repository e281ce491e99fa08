package mcp

import (
	"cmp"
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Paged input has the cursor of a page.
type Paged struct {
	Cursor string `json:"cursor,omitempty" jsonschema:"the cursor of the page before, to read on"`
}

// from returns the cursor.
func (p Paged) from() string { return p.Cursor }

// An input names the command that answers it.
type input interface {
	command() command
	from() string
}

type statusInput struct{ Paged }

func (statusInput) command() command { return command{args: []string{"status"}} }

type timelineInput struct {
	Run   string `json:"run,omitempty" jsonschema:"a run or a unique prefix of its id; @ is the newest (the default), @session the newest session"`
	All   bool   `json:"all,omitempty" jsonschema:"also the frames that a travel, a reset or an undo has stepped over"`
	Limit int    `json:"limit,omitempty" jsonschema:"only the newest frames: how many"`
	Paged
}

func (in timelineInput) command() command {
	return line("timeline").flag(in.All, "--all").number("--limit", in.Limit).words(cmp.Or(in.Run, "@"))
}

// addReads adds the tools that change nothing.
func (s *server) addReads(to *sdk.Server) {
	addRead[statusInput](s, to, "status", "Which runs and sessions there are: what runs, waits for somebody or has failed, and the newest ones.")
	addRead[timelineInput](s, to, "timeline", "The frames of a run or session in order: number, time, changed lines, and what happened.")
}

// addRead adds a tool that runs a command and changes nothing.
func addRead[In input](s *server, to *sdk.Server, name, does string) {
	no := false
	tool := &sdk.Tool{Name: name, Description: does, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no}}
	sdk.AddTool(to, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
		return s.read(ctx, in.command(), in.from())
	})
}
