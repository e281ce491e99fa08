package agent

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Address returns the address of a frame of a session for what people type: SESSION, SESSION:N or RUN@ID. SESSION is a run, the agent's own
// id, "@", or "": the newest session of the working copy. N is the number of a frame, "turn:7", or the id of a tool call.
func Address(ctx context.Context, s *timeline.Store, text string) (string, error) {
	name, at, _ := strings.Cut(text, ":")
	if strings.Contains(strings.TrimPrefix(name, "@"), "@") {
		return text, nil
	}
	run, err := Session(ctx, s, name)
	switch {
	case err != nil || at == "":
		return run, err
	case strings.Trim(at, "0123456789") == "":
		return run + ":" + at, nil
	}
	return run + "@" + at, nil
}

// Session returns the id of the run that name names: a run, the agent's own id of a session, or "@" or "" for the newest session.
func Session(ctx context.Context, s *timeline.Store, name string) (string, error) {
	if name == "@" || name == "" {
		return newestSession(ctx, s)
	}
	run, err := s.ResolveRun(ctx, name)
	if fault.CodeOf(err) != fault.RunNotFound {
		return run, err
	}
	for _, agent := range dialect.Names() {
		if of, other := s.ResolveRun(ctx, Run(agent, name)); other == nil {
			return of, nil
		}
	}
	return "", err
}

// newestSession returns the id of the newest session of the working copy or, if none was recorded there, of the repository.
func newestSession(ctx context.Context, s *timeline.Store) (string, error) {
	if here := sessionHere(ctx, s); here != "" {
		return here, nil
	}
	sessions, err := Sessions(ctx, s)
	if err != nil {
		return "", err
	}
	for _, run := range sessions {
		// A fork is pending until its agent has started. "@" skips such a fork.
		if run.Status != string(snapshot.RunPending) {
			return run.RunID, nil
		}
	}
	return "", fault.New(fault.RunNotFound, "no session of a coding agent was recorded in this repository").
		Hint("`git smithers session enable` records sessions from then on")
}
