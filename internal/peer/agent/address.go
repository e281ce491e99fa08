package agent

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Address returns the address of a frame of a session for what people type: SESSION, SESSION:N or RUN@ID. SESSION is a run or the agent's own
// id. N is as in FrameOf.
func Address(ctx context.Context, s *timeline.Store, text string) (string, error) {
	name, at, _ := strings.Cut(text, ":")
	if strings.Contains(name, "@") {
		return text, nil
	}
	run, err := Session(ctx, s, name)
	if err != nil {
		return "", err
	}
	return FrameOf(ctx, s, run, at)
}

// FrameOf returns the address of a frame of a run. run is the whole id of the run, and at is the number of the frame, also the number that another
// engine gave it, "turn:7", the id of a tool call, another id, or "" for the newest state.
func FrameOf(ctx context.Context, s *timeline.Store, run, at string) (string, error) {
	_, number, foreign := strings.Cut(at, "/")
	if !foreign {
		number = at
	}
	switch {
	case at == "":
		return run, nil
	case number != "" && strings.Trim(number, "0123456789") == "":
		return run + ":" + at, nil
	}
	frame, err := frameOfCall(ctx, s, run, at)
	if err != nil || frame == snapshot.NoFrame {
		return run + "@" + at, err
	}
	return fmt.Sprintf("%s:%d", run, frame), nil
}

// frameOfCall returns the frame of a session's tool call by the agent's own id, if the frame does not have the id: the agent's hooks name
// calls by aliases. Otherwise it returns snapshot.NoFrame.
func frameOfCall(ctx context.Context, s *timeline.Store, run, id string) (int64, error) {
	head, err := s.Head(ctx, run)
	if err != nil {
		return snapshot.NoFrame, err
	}
	at, alias, err := lineOfCall(s, head, id)
	if err != nil || alias == "" {
		return snapshot.NoFrame, err
	}
	for entry, err := range s.Chain(head.Entry()) {
		if err != nil {
			return snapshot.NoFrame, err
		}
		if entry.Frame == snapshot.NoFrame || !slices.Contains(entry.IDs, alias) {
			continue
		}
		// A later call can have the same alias. The hook of this call came before its line.
		mem, err := memoryOf(entry)
		if err != nil || mem.Read[at.Transcript].Offset <= at.Offset {
			return entry.Frame, err
		}
	}
	return snapshot.NoFrame, nil
}

// lineOfCall returns the place of the line with a call, and the call's alias. The alias is "" if the session has no such call, or the agent
// hands ids to its hooks.
func lineOfCall(s *timeline.Store, head *timeline.Head, id string) (at snapshot.TranscriptRange, alias string, err error) {
	found := false
	for call, err := range head.Entry().AllToolCalls() {
		if err != nil {
			return at, "", timeline.Explain(err)
		}
		if call.CallToken == id && call.InputAt != nil {
			at, found = *call.InputAt, true
		}
	}
	if !found {
		return at, "", nil
	}
	call, err := callAt(head.Entry(), head.Row().Workflow, at, id, func(key string, stored []byte) ([]byte, error) {
		whole, err := s.Secrets(head.Row()).Look(snapshot.Place{Collection: snapshot.CollectionTranscript, Key: key}, stored)
		return whole.Text, err
	})
	return at, call.Alias, err
}

// Session returns the id of the run that name names: a run or a unique prefix, or the agent's own id of a session.
func Session(ctx context.Context, s *timeline.Store, name string) (string, error) {
	return resolveSession(ctx, name, s.ResolveRun)
}

// SessionToChange is Session for a command that changes the session: it takes no prefix.
func SessionToChange(ctx context.Context, s *timeline.Store, name string) (string, error) {
	return resolveSession(ctx, name, s.ResolveRunToChange)
}

// TurnToChange returns the session and the number of the turn that text names for a command that changes the session, as SESSION:turn:3, RUN@turn:3 or
// @turn:3. Code: invalid_address if text names no turn.
func TurnToChange(ctx context.Context, s *timeline.Store, text string) (run string, turn int, err error) {
	name, number := text, ""
	if i := strings.LastIndex(text, "turn:"); i > 0 && strings.ContainsAny(text[i-1:i], ":@") {
		name, number = text[:i-1], text[i+len("turn:"):]
	}
	switch run, err = SessionToChange(ctx, s, name); {
	case number == "" && fault.CodeOf(err) == fault.InvalidAddress, name == "":
		return "", 0, fault.New(fault.InvalidAddress, "%q names no turn of a session", text).
			Hint("name a session and a turn, as in @:turn:3; `git smithers timeline @session` lists the turns of the newest session")
	case err != nil:
		return "", 0, err
	}
	if turn, err = strconv.Atoi(number); err != nil {
		return "", 0, fault.New(fault.InvalidAddress, "%q names no turn of a session", text).
			Hint("name one, as in %s; `git smithers timeline %s` lists them", fault.Word(run+"@"+TurnID(1)), fault.Word(run))
	}
	return run, turn, nil
}

// resolveSession returns the id of the run that name names. resolve finds a run.
func resolveSession(ctx context.Context, name string, resolve func(context.Context, string) (string, error)) (string, error) {
	run, err := resolve(ctx, name)
	if fault.CodeOf(err) != fault.RunNotFound {
		return run, err
	}
	for _, agent := range dialect.Names() {
		if of, other := resolve(ctx, Run(agent, name)); other == nil {
			return of, nil
		}
	}
	return "", err
}
