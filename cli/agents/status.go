package agents

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/peer/agent"
	"github.com/git-smithers/git-smithers/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/peer/agent/hooks"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// statusDocument is the document of session status --json.
type statusDocument struct {
	Kind  string          `json:"kind"`
	Files []settingsState `json:"files"`
	Hooks hookState       `json:"hooks"`
}

// settingsState lists the hooks in a file of settings.
type settingsState struct {
	Agent   string   `json:"agent"`
	File    string   `json:"file"`
	Events  []string `json:"events"`  // with a hook of ours
	Missing []string `json:"missing"` // without one
}

// hookState says how hooks have run on this machine.
type hookState struct {
	Calls    int             `json:"calls"` // in the log
	Frames   int             `json:"frames"`
	Errors   int             `json:"errors"`
	LastAtMs *int64          `json:"lastAtMs"`
	MedianMs *int64          `json:"medianMs"`
	P95Ms    *int64          `json:"p95Ms"`
	Last     *agent.LogEntry `json:"lastError"` // the newest call that failed
}

func statusCommand() *arg.Command {
	return &arg.Command{
		Name:    "status",
		Summary: "show which agents are recorded, and how their hooks fare",
		About: `Shows which hooks are in place, when they last ran on this machine, how long they took, and what
the newest call that failed said.`,
		Exits:    arg.Reads(),
		Examples: []arg.Example{{"see whether sessions are recorded", "git smithers session status"}},
		Run: func(ctx context.Context, s *session.Session, _ *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error { return runStatus(s, store) })
		},
	}
}

// runStatus prints which hooks are in place and how they have run.
func runStatus(s *session.Session, store *timeline.Store) error {
	doc := statusDocument{Kind: "session-status", Files: []settingsState{}}
	root, err := topOf(store)
	if err != nil {
		return err
	}
	for _, name := range withHooks() {
		d, _ := dialect.Of(name)
		files := []bool{false}
		if d.Hooks.Shared != "" {
			files = append(files, true)
		}
		for _, shared := range files {
			setup := hooks.Setup{Agent: d, Root: root, Shared: shared, Private: store.Private()}
			have, want, err := setup.InPlace()
			if err != nil {
				return err
			}
			state := settingsState{name, filepath.ToSlash(setup.File()), append([]string{}, have...), []string{}}
			for _, event := range want {
				if !slices.Contains(have, event) {
					state.Missing = append(state.Missing, event)
				}
			}
			doc.Files = append(doc.Files, state)
		}
	}
	calls, err := agent.Log(store.Private())
	if err != nil {
		return fault.New(fault.Internal, "%w", err)
	}
	doc.Hooks = stateOf(calls)
	if s.JSON {
		return s.WriteJSON(doc)
	}
	_, err = fmt.Fprint(s.Out, statusText(doc))
	return err
}

// stateOf summarizes the log of hooks.
func stateOf(calls []agent.LogEntry) hookState {
	state := hookState{Calls: len(calls)}
	var took []int64
	for i := range calls {
		call := &calls[i]
		state.LastAtMs = &call.AtMs
		took = append(took, call.TookMs)
		if call.Frame {
			state.Frames++
		}
		if call.Error != "" {
			state.Errors, state.Last = state.Errors+1, call
		}
	}
	if len(took) > 0 {
		slices.Sort(took)
		state.MedianMs, state.P95Ms = &took[len(took)/2], &took[len(took)*95/100]
	}
	return state
}

// statusText returns the status in words.
func statusText(doc statusDocument) string {
	var b strings.Builder
	recorded := false
	for _, f := range doc.Files {
		switch {
		case len(f.Events) == 0:
			continue
		case len(f.Missing) == 0:
			fmt.Fprintf(&b, "%s is recorded: hooks are in %s\n", f.Agent, f.File)
		default:
			fmt.Fprintf(&b, "%s is recorded in part: %s lacks hooks for %s\n", f.Agent, f.File, strings.Join(f.Missing, ", "))
		}
		recorded = true
	}
	if !recorded {
		b.WriteString("no agent is recorded in this working copy\n")
	}
	h := doc.Hooks
	if h.Calls == 0 {
		b.WriteString("no hook has run yet\n")
		return b.String()
	}
	fmt.Fprintf(&b, "hooks: %d calls, %d frames; the newest at %s; half took %d ms at most, 95 %% took %d ms at most\n",
		h.Calls, h.Frames, time.UnixMilli(*h.LastAtMs).Format(time.DateTime), *h.MedianMs, *h.P95Ms)
	if h.Last != nil {
		fmt.Fprintf(&b, "errors: %d; the newest, at %s in %s %s: %s\n", h.Errors,
			time.UnixMilli(h.Last.AtMs).Format(time.DateTime), plain.Text(h.Last.Agent), plain.Text(h.Last.Event), plain.Text(plain.OneLine(h.Last.Error)))
	}
	return b.String()
}
