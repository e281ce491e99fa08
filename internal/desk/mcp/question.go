package mcp

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/consent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// The limits of questions.
const (
	answerWithin = 10 * time.Minute
	maxOpen      = 64   // questions without an answer
	maxListed    = 40   // lines of a list
	maxLine      = 1000 // characters of what a line quotes
)

// A question is what a person is asked before a tool changes something. The call that the person has answered is the same call again, with the
// state of the question: a ticket that only this process can make, and that is used once. It holds the digest of what was shown, so that nothing
// else is done. The arguments of the call, which a model writes, cannot answer.
type question struct {
	server *server
	req    *sdk.CallToolRequest
	tool   string // as --allow names it
	id     string
	lines  []string
	asked  *ticket // the question that this call answers, or nil
}

// A ticket is the state of a question.
type ticket struct {
	ID      string
	UntilMs int64
	Sum     []byte
}

// sealed is a ticket with its seal.
type sealed struct {
	Ticket []byte
	Seal   string
}

// question begins a question, or goes on with the one that the call answers. Code: unconfirmed if that question is not one of this server, or too old.
func (s *server) question(req *sdk.CallToolRequest, tool string) (*question, error) {
	q := &question{server: s, req: req, tool: tool, id: rand.Text()}
	if req.Params.RequestState == "" {
		return q, nil
	}
	var state sealed
	if json.Unmarshal([]byte(req.Params.RequestState), &state) == nil && consent.Fits(s.key, state.Ticket, state.Seal) {
		q.asked = new(ticket)
		if err := json.Unmarshal(state.Ticket, q.asked); err != nil {
			return nil, err
		}
		q.id = q.asked.ID
	}
	s.pinning.Lock()
	defer s.pinning.Unlock()
	at := slices.Index(s.open, q.id)
	if q.asked == nil || at < 0 || s.streams.Now().UnixMilli() > q.asked.UntilMs {
		return nil, fault.New(fault.Unconfirmed, "this answer belongs to no question that is open").Hint("nothing was changed; call the tool again")
	}
	s.open = slices.Delete(s.open, at, at+1)
	return q, nil
}

// say adds a line. What args quote may be stored text.
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

// confirm returns nil if the tool may do what the lines say, and otherwise the result of the call: the question, or why the tool does nothing. what
// is what it would do, with all that the lines leave out.
func (q *question) confirm(what ...any) *sdk.CallToolResult {
	s := q.server
	text := strings.Join(q.lines, "\n")
	whole, err := json.Marshal([]any{q.tool, text, what})
	if err != nil {
		return failure(err)
	}
	sum := sha256.Sum256(whole)
	answer, _ := q.req.Params.InputResponses["confirm"].(*sdk.ElicitResult)
	switch can := q.req.ClientCapabilities(); {
	case slices.Contains(s.allow, q.tool):
		return nil
	case q.asked != nil && string(q.asked.Sum) != string(sum[:]):
		return failure(fault.New(fault.Unconfirmed, "what would change is not what the person was shown any more").Hint("nothing was changed; call the tool again"))
	case q.asked != nil && answer != nil && answer.Action == "accept":
		return nil
	case q.asked != nil:
		return failure(fault.New(fault.Unconfirmed, "the person did not agree").Hint("nothing was changed; do not ask again unless the person wants it"))
	case can == nil || can.Elicitation == nil || can.Elicitation.Form == nil && can.Elicitation.URL != nil:
		return failure(fault.New(fault.Unconfirmed, "this agent cannot ask the person, and nobody has agreed to:\n%s", text).
			Hint("nothing was changed; the person can type the command, or start the server with --allow %s", q.tool))
	}
	state, err := q.seal(sum[:])
	if err != nil {
		return failure(err)
	}
	return &sdk.CallToolResult{RequestState: state, InputRequests: sdk.InputRequestMap{"confirm": &sdk.ElicitParams{
		Message: text, RequestedSchema: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}},
	}}}
}

// seal opens the question, and returns its state.
func (q *question) seal(sum []byte) (string, error) {
	s := q.server
	until := s.streams.Now().Add(answerWithin).UnixMilli()
	text, err := json.Marshal(ticket{q.id, until, sum})
	if err != nil {
		return "", err
	}
	state, err := json.Marshal(sealed{text, consent.Seal(s.key, text)})
	s.pinning.Lock()
	defer s.pinning.Unlock()
	s.open = append(s.open[max(0, len(s.open)-maxOpen+1):], q.id) // the oldest is asked again
	return string(state), err
}
