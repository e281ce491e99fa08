package mcp

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/consent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The limits of questions.
const (
	maxOpen   = 64   // questions without an answer
	maxListed = 40   // lines of a list
	maxLine   = 4000 // characters of what a line quotes
)

// A question is what a person is asked before a tool changes something. The person's answer comes with the same call again, and with the state of the
// question: its id, and the seal of what the person was shown and of what would be done. Only this process can make the seal, and it takes each id once.
// The arguments of the call, which a model writes, cannot answer.
type question struct {
	server   *server
	req      *sdk.CallToolRequest
	tool     string // as --allow names it
	id, seal string // seal is "" if the call answers no question
	lines    []string
}

// ask begins a question, or goes on with the one that the call answers.
func (s *server) ask(req *sdk.CallToolRequest, tool string) *question {
	id, seal, answers := strings.Cut(req.Params.RequestState, ".")
	if !answers || slices.Contains(s.allow, tool) {
		id, seal = strings.ToLower(rand.Text()), ""
	}
	return &question{server: s, req: req, tool: tool, id: id, seal: seal}
}

// say adds a line. Texts in args may be stored ones.
func (q *question) say(format string, args ...any) {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = term.Visible(plain.Shorten(strings.Join(plain.Folded(text), `\n`), maxLine))
		}
	}
	q.lines = append(q.lines, fmt.Sprintf(format, args...))
}

// list adds a line for each of n things, and says how many it leaves out.
func (q *question) list(n int, line func(int) string) {
	for i := range min(n, maxListed) {
		q.say("  %s", line(i))
	}
	if n > maxListed {
		q.say("  and %d more", n-maxListed)
	}
}

// refuse returns the result of a call that changes nothing.
func refuse(says, hint string) *sdk.CallToolResult {
	return failure(fault.New(fault.Unconfirmed, "%s", says).Hint("nothing was changed; %s", hint))
}

// confirm returns nil if the tool may do what the lines say, and otherwise the result of the call: the question, or why the tool does nothing. what
// is all that it would do: the lines leave some out.
func (q *question) confirm(what ...any) *sdk.CallToolResult {
	s, text := q.server, strings.Join(q.lines, "\n")
	whole, err := json.Marshal([]any{q.id, q.tool, text, what})
	if err != nil {
		return failure(err)
	}
	answer, _ := q.req.Params.InputResponses["confirm"].(*sdk.ElicitResult)
	switch can := q.req.ClientCapabilities(); {
	case slices.Contains(s.allow, q.tool):
		return nil
	case q.seal != "" && (!s.close(q.id) || !consent.Fits(s.key, whole, q.seal)):
		return refuse("the answer is to no open question, or what would change is not what the person was shown", "call the tool again")
	case q.seal != "" && (answer == nil || answer.Action != "accept"):
		said := "no answer"
		if answer != nil {
			said = answer.Action
		}
		return refuse("nobody has agreed: the agent's answer to the question was "+said, "ask again only if the person wants it, or start the server with --allow "+q.tool)
	case q.seal != "":
		return nil
	case can == nil || can.Elicitation == nil || can.Elicitation.Form == nil && can.Elicitation.URL != nil:
		out := refuse("nobody has agreed, because this agent cannot ask the person", "the person can type the command, or start the server with --allow "+q.tool)
		out.Content = append(out.Content, &sdk.TextContent{Text: quote(text)}) // it has names of files
		return out
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked[max(0, len(s.asked)-maxOpen+1):], q.id)
	return &sdk.CallToolResult{RequestState: q.id + "." + consent.Seal(s.key, whole), InputRequests: sdk.InputRequestMap{"confirm": &sdk.ElicitParams{
		Message: text, RequestedSchema: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}},
	}}}
}

// close ends an open question, and reports whether there was one.
func (s *server) close(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(s.asked, id)
	if at >= 0 {
		s.asked = slices.Delete(s.asked, at, at+1)
	}
	return at >= 0
}
