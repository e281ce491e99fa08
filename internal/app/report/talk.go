package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	saidShown   = 4000 // characters of a prompt or an answer
	argShown    = 160  // characters of the argument of a call
	outputLines = 8    // lines of the output of a call that failed
)

// talk adds the conversation of a session, a part a turn, or the tool calls of a run, a part an attempt.
func (r *runReader) talk() error {
	calls, err := r.calls()
	if err != nil {
		return err
	}
	if r.sum.Session {
		return r.turns(calls)
	}
	var part *Part
	for _, call := range calls.list {
		title := r.name(fmt.Sprintf("%s, attempt %d", titleOf(call.NodeID, call.Iteration, call.Iteration > 0), call.Attempt))
		if part == nil || part.Title != title {
			if len(r.out.Parts) > r.share(maxParts) {
				r.out.MoreParts++
				return nil
			}
			part = &Part{Kind: TalkPart, Title: title, About: "tool calls"}
			r.out.Parts = append(r.out.Parts, part)
		}
		part.Lines = append(part.Lines, r.callLine(call, string(call.Input), ""))
	}
	return nil
}

// A callBook has the tool calls of a run.
type callBook struct {
	list   []snapshot.ToolCall
	byID   map[string]snapshot.ToolCall
	frames map[string]int64 // the frame of a call, by its id
}

// calls reads the tool calls of the run.
func (r *runReader) calls() (*callBook, error) {
	book := &callBook{byID: make(map[string]snapshot.ToolCall), frames: make(map[string]int64)}
	for call, err := range r.sum.Entry.AllToolCalls() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		book.list = append(book.list, call)
		if call.CallToken != "" {
			book.byID[call.CallToken] = call
		}
	}
	for _, frame := range r.sum.Frames.Frames {
		for _, id := range frame.IDs {
			book.frames[id] = frame.FrameNo
		}
	}
	return book, nil
}

// turns adds the parts of a conversation.
func (r *runReader) turns(calls *callBook) error {
	at := &timeline.LoadedEntry{Address: timeline.Address{Run: r.sum.Row.ID, Frame: snapshot.NoFrame}, Entry: r.sum.Entry, Bare: true}
	chat, err := agent.Messages(at)
	if err != nil {
		return err
	}
	results := make(map[string]string)
	said := false // the conversation has the calls
	for _, m := range chat.Messages {
		if m.CallID != "" && m.Content != nil {
			results[m.CallID] = *m.Content
		}
		said = said || len(m.Calls) > 0
	}
	var part *Part
	turn, first := 0, len(r.out.Parts)
	for _, m := range chat.Messages {
		begins := m.Role == "user" && !m.Within
		if begins {
			turn++
		}
		if begins || part == nil {
			part = r.turn(turn)
			r.out.Parts = append(r.out.Parts, part)
		}
		r.message(part, m, calls, results)
		if !said && begins {
			r.turnCalls(part, calls, turn)
		}
	}
	if most := r.share(4 * maxParts); len(r.out.Parts)-first > most { // the newest turns stay
		r.out.MoreParts += len(r.out.Parts) - first - most
		r.out.Parts = append(r.out.Parts[:first], r.out.Parts[len(r.out.Parts)-most:]...)
	}
	if part != nil {
		part.Open = true
	}
	return nil
}

// turn returns the part of a turn.
func (r *runReader) turn(number int) *Part {
	part := &Part{Kind: TalkPart, Title: fmt.Sprintf("Turn %d", number)}
	if number == 0 {
		part.Title = "Before the first prompt"
	}
	for i := range r.sum.Steps {
		if step := &r.sum.Steps[i]; step.Iteration == number {
			part.State = nodeState(step.State)
			if lines, err := r.sum.TurnLines(step); err == nil && lines != nil {
				part.Code.Added, part.Code.Removed = lines.Added, lines.Removed
			}
		}
	}
	return part
}

// turnCalls adds the calls of a turn whose conversation is not stored.
func (r *runReader) turnCalls(part *Part, calls *callBook, turn int) {
	for _, call := range calls.list {
		if call.Iteration == turn {
			part.Lines = append(part.Lines, r.callLine(call, string(call.Input), r.frameOf(calls, call.CallToken)))
		}
	}
}

// message adds a message to a part.
func (r *runReader) message(part *Part, m agent.Message, calls *callBook, results map[string]string) {
	if m.Content != nil && m.Role != "tool" {
		kind := AnswerLine
		if m.Role == "user" {
			kind = PromptLine
		}
		text, left := cut(strings.TrimSpace(r.mask.text(readable(*m.Content))), saidShown)
		if text != "" {
			part.Lines = append(part.Lines, Line{Kind: kind, Text: text, Cut: left})
		}
		if kind == PromptLine && part.About == "" {
			part.About = oneLine(text, textShown)
		}
	}
	for _, c := range m.Calls {
		call, known := calls.byID[c.ID]
		if !known {
			call = snapshot.ToolCall{ToolName: c.Function.Name, Status: snapshot.ToolCallSucceeded}
		}
		part.Lines = append(part.Lines, r.callLine(call, c.Function.Arguments, r.frameOf(calls, c.ID)))
		if call.Status == snapshot.ToolCallFailed {
			r.output(part, results[c.ID])
		}
	}
}

// frameOf returns the address of the frame of a call, or "" if there is none.
func (r *runReader) frameOf(calls *callBook, id string) string {
	frame, ok := calls.frames[id]
	if !ok || id == "" {
		return ""
	}
	return timeline.Address{Run: r.sum.Row.ID, Frame: frame}.String()
}

// callLine returns the line of a call.
func (r *runReader) callLine(call snapshot.ToolCall, input, frame string) Line {
	line := Line{Kind: CallLine, Tool: r.name(call.ToolName), Text: oneLine(summary.ArgumentOf(json.RawMessage(r.mask.text(input))), argShown), Frame: frame, TookMs: -1}
	switch call.Status {
	case snapshot.ToolCallFailed:
		line.State = Failed
	case snapshot.ToolCallSucceeded:
		line.State = Finished
	default:
		line.State = Pending
	}
	if call.FinishedAtMs != nil {
		line.TookMs = max(*call.FinishedAtMs-call.StartedAtMs, 0)
	}
	return line
}

// output adds the end of the output of a call that failed.
func (r *runReader) output(part *Part, text string) {
	lines := strings.Split(strings.TrimSpace(r.mask.text(readable(text))), "\n")
	for _, line := range lines[max(len(lines)-outputLines, 0):] {
		if shown, left := cut(line, lineShown); strings.TrimSpace(shown) != "" {
			part.Lines = append(part.Lines, Line{Kind: OutputLine, Text: shown, Cut: left})
		}
	}
}
