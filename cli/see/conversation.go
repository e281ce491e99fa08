package see

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/git-smithers/git-smithers/app/summary"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/peer/agent"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// argumentShown is how many characters are shown of the argument of a call.
const argumentShown = 160

// messageDocument is one message of a conversation in logs --json.
type messageDocument struct {
	Kind string `json:"kind"`
	agent.Message
}

// printConversation prints the conversation of a session up to an entry: what the user said after "> ", what the agent said as it is, and a
// line for each tool call. With --json, it prints a document for each message. Secrets stay placeholders.
func printConversation(ctx context.Context, s *session.Session, at *timeline.LoadedEntry, opts logsOptions) error {
	if opts.follow {
		return fault.New(fault.Usage, "the conversation of a session cannot be followed").
			Hint("`git smithers watch %s` shows its frames as they come", fault.Word(at.Address.Run))
	}
	chat, err := agent.Messages(at)
	if err != nil {
		return err
	}
	if s.JSON {
		for _, m := range chat.Messages {
			if err := s.WriteJSON(messageDocument{"message", m}); err != nil {
				return err
			}
		}
		return nil
	}
	painter := s.Painter(ctx)
	var out strings.Builder
	for _, m := range chat.Messages {
		writeMessage(&out, painter, m)
	}
	text, from, total := opts.lines.of(strings.TrimRight(out.String(), "\n"))
	if text == "" {
		s.Note("the conversation has %s", plain.Count(total, "line"))
		return nil
	}
	if before := from - 1; before > 0 && total > 0 {
		s.Note("… %s before", plain.Count(before, "line"))
	}
	return s.Paged(ctx, func() error { return s.Printf("%s\n", strings.TrimRight(text, "\n")) })
}

// writeMessage writes a message of a conversation for people. The results of calls are left out.
func writeMessage(out *strings.Builder, p term.Painter, m agent.Message) {
	if m.CallID != "" {
		return
	}
	if m.Content != nil {
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		for _, line := range plain.Lines(plain.Uncolored(*m.Content)) {
			if m.Role == "user" {
				line = p.Paint(term.Bold, "> "+line)
			}
			out.WriteString(line + "\n")
		}
	}
	for _, call := range m.Calls {
		out.WriteString(p.Paint(term.Dim, "* "+plain.Text(call.Function.Name+" "+plain.Shorten(plain.Words(summary.ArgumentOf(json.RawMessage(call.Function.Arguments))), argumentShown))) + "\n")
	}
}
