package inspect

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// argumentShown is how many characters are shown of the argument of a call.
const argumentShown = 160

// printConversation prints the conversation of a session up to an entry: what the user said after "> ", what the agent said as it is, and a
// line for each tool call. With --json, it prints a document for each message. Secrets stay placeholders.
func printConversation(ctx context.Context, s *session.Session, at *timeline.LoadedEntry, opts logsOptions) error {
	chat, err := agent.Messages(at)
	if err != nil {
		return err
	}
	if s.JSON {
		return term.WriteAll(s.Terminal, "message", chat.Messages)
	}
	text, from, total := opts.lines.of(conversationText(ctx, s, chat))
	if text == "" {
		s.Note("the conversation has %s", plain.Count(total, "line"))
		return nil
	}
	if before := from - 1; before > 0 && total > 0 {
		s.Note("… %s before", plain.Count(before, "line"))
	}
	return s.Paged(ctx, func() error { return s.Printf("%s\n", strings.TrimRight(text, "\n")) })
}

// followConversation prints the conversation of a session, and what comes to it as soon as a hook has stored it, until the session has ended. With --json, a
// message is printed when the next one has begun: until then, the agent may add to it.
func followConversation(ctx context.Context, s *session.Session, head *timeline.Head, opts logsOptions) error {
	var printed []string // lines
	messages := 0        // that are printed
	for first := true; ; first = false {
		ended := head.Row().Status.Ended()
		at := &timeline.LoadedEntry{Address: timeline.Address{Run: head.Row().ID, Frame: snapshot.NoFrame}, Entry: head.Entry(), Bare: true}
		chat, err := agent.Messages(at)
		if err != nil {
			return err
		}
		if s.JSON {
			settled := len(chat.Messages)
			messages = min(messages, settled) // the agent's own file, once there is one, may have fewer
			for settled > messages && !ended && chat.Messages[settled-1].Role != "user" {
				settled--
			}
			err = term.WriteAll(s.Terminal, "message", chat.Messages[messages:settled])
			messages = settled
		} else {
			lines := linesOf(conversationText(ctx, s, chat))
			skip := sharedLines(printed, lines)
			if first {
				skip = opts.lines.skipped(len(lines))
			}
			err = s.Printf("%s", strings.Join(lines[skip:], ""))
			printed = lines
		}
		if err != nil || ended {
			return err
		}
		if err := waitForTip(ctx, head); err != nil {
			return err
		}
	}
}

// sharedLines returns the number of lines with which both lists begin.
func sharedLines(a, b []string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// conversationText returns a conversation for people. It ends with a line feed if it is not empty.
func conversationText(ctx context.Context, s *session.Session, chat *agent.Chat) string {
	painter := s.Painter(ctx)
	var out strings.Builder
	for _, m := range chat.Messages {
		writeMessage(&out, painter, m)
	}
	return out.String()
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
