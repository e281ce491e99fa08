package agents

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/peer/agent/hooks"
	"github.com/git-smithers/git-smithers/internal/peer/agent/retention"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// statusDocument is the document of session status --json.
type statusDocument struct {
	Kind   string              `json:"kind"`
	Files  []settingsState     `json:"files"`
	Agents []agentState        `json:"agents"` // those with hooks in place, and those whose hooks have run
	Hooks  hookState           `json:"hooks"`  // of all agents
	Keep   []retention.Session `json:"keep"`   // what becomes of each session
}

// settingsState lists the hooks in a file of settings.
type settingsState struct {
	Agent   string   `json:"agent"`
	File    string   `json:"file"`
	Events  []string `json:"events"`          // with a hook of ours
	Missing []string `json:"missing"`         // without one
	Unheard []string `json:"unheard"`         // why the agent may not hear the hooks
	Error   string   `json:"error,omitempty"` // why the file cannot be read
	Heard   bool     `json:"heard"`           // a hook has come since the hooks were written
	Extras  []string `json:"extras"`          // the files of commands and of the skill beside them
}

// agentState says how the hooks of an agent have run on this machine.
type agentState struct {
	Agent string `json:"agent"`
	// Trust says what the user must do before the agent runs its hooks. It is "" if one has run, or if the agent asks for nothing.
	Trust string `json:"trust,omitempty"`
	hookState
}

// hookState says how hooks have run on this machine.
type hookState struct {
	Calls    int             `json:"calls"` // in the log
	Frames   int             `json:"frames"`
	Errors   int             `json:"errors"`
	Warnings int             `json:"warnings"`
	LastAtMs *int64          `json:"lastAtMs"`
	MedianMs *int64          `json:"medianMs"`
	P95Ms    *int64          `json:"p95Ms"`
	Last     *agent.LogEntry `json:"lastError"`   // the newest call that failed
	Warned   *agent.LogEntry `json:"lastWarning"` // the newest call that warned
}

func statusCommand() *arg.Command {
	return &arg.Command{
		Name:    "status",
		Summary: "show which agents are recorded, and how their hooks fare",
		Usage:   []string{"[--check]"},
		About: `Shows which hooks are in place, when those of each agent last ran on this machine, how long they took,
what an agent must be told before it runs them, what the newest call that failed or warned said, and
which session is pruned by its age next. With --check, it fails if no hooks are in place, or if they
are not heard: none has come since they were written, some are missing, or the file cannot be read.`,
		Flags:    []urfave.Flag{&urfave.BoolFlag{Name: "check", Usage: "fail if no hooks are in place, or if they are not heard"}},
		Exits:    arg.Reads(),
		Examples: []arg.Example{{"see whether sessions are recorded", "git smithers session status"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			err := s.WithStore(ctx, func(store *timeline.Store) error { return runStatus(ctx, s, store, c.Bool("check")) })
			if fault.CodeOf(err) == fault.NoRepository {
				return explainAbove(s, err)
			}
			return err
		},
	}
}

// runStatus prints which hooks are in place, how they have run, and how long sessions stay.
func runStatus(ctx context.Context, s *session.Session, store *timeline.Store, check bool) error {
	doc := statusDocument{Kind: "session-status", Files: []settingsState{}, Agents: []agentState{}}
	root, err := topOf(store)
	if err != nil {
		return err
	}
	calls, err := agent.Log(store.Private())
	if err != nil {
		return fault.New(fault.Internal, "%w", err)
	}
	for _, name := range withHooks() {
		doc.Files = append(doc.Files, settingsOf(store, root, name, calls)...)
	}
	doc.Hooks, doc.Agents = stateOf(calls), agentsOf(doc.Files, calls)
	if doc.Keep, err = retention.Plan(ctx, store); err != nil {
		return err
	}
	if s.JSON {
		err = s.WriteJSON(doc)
	} else {
		_, err = fmt.Fprint(s.Out, statusText(doc))
	}
	if err != nil || !check {
		return err
	}
	return doc.check()
}

// check returns hooks_unheard if there are no hooks in place, or they are not heard.
func (d *statusDocument) check() error {
	var err error = fault.New(fault.HooksUnheard, "no agent is recorded in this working copy").
		Hint("`%s session enable` records the agents that are installed", fault.Program)
	for _, f := range d.Files {
		if f.Error != "" || len(f.Events) > 0 && (len(f.Missing) > 0 || !f.Heard) {
			return fault.New(fault.HooksUnheard, "hooks of %s in %s are not heard", f.Agent, f.File).
				Hint("`%s session status` says why", fault.Program)
		}
		if len(f.Events) > 0 {
			err = nil
		}
	}
	return err
}

// explainAbove adds to err, that the folder is in no repository, that an agent which starts there is not recorded. A folder below may be a stranger's,
// whose configuration would be obeyed, so none is recorded unasked.
func explainAbove(s *session.Session, err error) error {
	entries, readErr := os.ReadDir(s.Dir)
	if readErr != nil || !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return agent.IsCheckout(filepath.Join(s.Dir, e.Name())) }) {
		return err
	}
	return fault.New(fault.NoRepository, "%w", err).
		Hint("an agent that starts here is not recorded, also where it works in repositories below: start it in one of them")
}

// settingsOf returns the state of the files of settings of an agent.
func settingsOf(store *timeline.Store, root, name string, calls []agent.LogEntry) []settingsState {
	speaks, _ := dialect.Of(name)
	var files []settingsState
	for _, setup := range hooks.All(store, root, speaks) {
		state := settingsState{Agent: name, File: filepath.ToSlash(setup.File()), Events: []string{}, Missing: []string{}, Unheard: []string{}}
		state.Extras = filesOf(setup.ExtrasInPlace())
		have, want, err := setup.InPlace()
		if err != nil {
			state.Error = err.Error()
		}
		state.Events = append(state.Events, have...)
		if len(have) > 0 {
			state.Unheard = append(state.Unheard, setup.Unheard()...)
			since := setup.Written()
			state.Heard = slices.ContainsFunc(calls, func(call agent.LogEntry) bool { return call.Agent == name && call.AtMs >= since })
		}
		for _, event := range want {
			if !slices.Contains(have, event) {
				state.Missing = append(state.Missing, event)
			}
		}
		files = append(files, state)
	}
	return files
}

// agentsOf returns the state of each agent that has hooks in place, or whose hooks are in the log.
func agentsOf(files []settingsState, calls []agent.LogEntry) []agentState {
	states := []agentState{}
	for _, name := range dialect.Names() {
		own := slices.DeleteFunc(slices.Clone(calls), func(call agent.LogEntry) bool { return call.Agent != name })
		inPlace := slices.ContainsFunc(files, func(f settingsState) bool { return f.Agent == name && len(f.Events) > 0 })
		if !inPlace && len(own) == 0 {
			continue
		}
		state := agentState{Agent: name, hookState: stateOf(own)}
		if speaks, _ := dialect.Of(name); len(own) == 0 && speaks.Hooks != nil {
			state.Trust = speaks.Hooks.Trust
		}
		states = append(states, state)
	}
	return states
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
		if call.Warning != "" {
			state.Warnings, state.Warned = state.Warnings+1, call
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
		if len(f.Extras) > 0 {
			fmt.Fprintf(&b, "%s has files of --commands and --skill: %s\n", f.Agent, strings.Join(f.Extras, ", "))
		}
		switch {
		case f.Error != "":
			fmt.Fprintf(&b, "%s: %s\n", f.Agent, plain.Text(plain.OneLine(f.Error)))
			continue
		case len(f.Events) == 0:
			continue
		case len(f.Missing) > 0:
			fmt.Fprintf(&b, "%s is recorded in part: %s lacks hooks for %s\n", f.Agent, f.File, strings.Join(f.Missing, ", "))
		case f.Heard:
			fmt.Fprintf(&b, "%s is recorded: hooks are in %s\n", f.Agent, f.File)
		default:
			fmt.Fprintf(&b, "%s: hooks are written to %s, and none has come since: restart %[1]s if it runs, and ask it something\n", f.Agent, f.File)
		}
		for _, why := range f.Unheard {
			fmt.Fprintf(&b, "  %s\n", plain.Text(why))
		}
		recorded = true
	}
	if !recorded {
		b.WriteString("no agent is recorded in this working copy\n")
	}
	for _, a := range doc.Agents {
		if a.Calls > 0 {
			fmt.Fprintf(&b, "hooks of %s: %s\n", a.Agent, a.text())
			continue
		}
		fmt.Fprintf(&b, "hooks of %s: none has run yet\n", a.Agent)
		if a.Trust != "" {
			fmt.Fprintf(&b, "  %s\n", a.Trust)
		}
	}
	if h := doc.Hooks; h.Calls == 0 && len(doc.Agents) == 0 {
		b.WriteString("no hook has run yet\n")
	}
	if h := doc.Hooks; h.Last != nil {
		fmt.Fprintf(&b, "errors: %d; %s\n", h.Errors, newestText(h.Last, h.Last.Error))
	}
	if h := doc.Hooks; h.Warned != nil {
		fmt.Fprintf(&b, "warnings: %d; %s\n", h.Warnings, newestText(h.Warned, h.Warned.Warning))
	}
	b.WriteString(keepText(doc.Keep))
	return b.String()
}

// text returns the state in words. A hook must have run.
func (h hookState) text() string {
	return fmt.Sprintf("%d calls, %d frames; the newest at %s; half took %d ms at most, 95 %% took %d ms at most",
		h.Calls, h.Frames, time.UnixMilli(*h.LastAtMs).Format(time.DateTime), *h.MedianMs, *h.P95Ms)
}

// keepText returns how many sessions are pruned by their age, and which of them is pruned first.
func keepText(sessions []retention.Session) string {
	var next *retention.Session
	going := 0
	for i := range sessions {
		if at := sessions[i].PrunedAtMs; at != nil {
			if going++; next == nil || *at < *next.PrunedAtMs {
				next = &sessions[i]
			}
		}
	}
	if next == nil {
		return ""
	}
	return fmt.Sprintf("sessions: %d, to be pruned by their age: %d; the first is %s, at %s (`%s prune --sessions --dry-run` lists them)\n",
		len(sessions), going, plain.Text(next.RunID), time.UnixMilli(*next.PrunedAtMs).Format(time.DateTime), fault.Program)
}

// newestText returns when a call of a hook was, and what it said.
func newestText(call *agent.LogEntry, said string) string {
	return fmt.Sprintf("the newest, at %s in %s: %s",
		time.UnixMilli(call.AtMs).Format(time.DateTime), plain.Text(strings.TrimSpace(call.Agent+" "+call.Event)), plain.Text(plain.OneLine(said)))
}
