package tui

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// lineWidth returns the columns of a safe text.
func lineWidth(text string) int { return ansi.StringWidth(text) }

// ask shows an action.
func (m *model) ask(a *action) tea.Cmd {
	m.over = a
	return a.load(m)
}

// copy puts a text into the clipboard of the terminal: on one line, without control characters.
func (m *model) copy(text string) tea.Cmd {
	m.note = "copied " + safe(text)
	return tea.SetClipboard(safe(text))
}

// act handles the keys that do something with a run.
func (s *runScreen) act(m *model, key string) (tea.Cmd, bool) {
	if s.run == nil {
		return nil, false
	}
	id, at := s.run.Row.ID, s.address()
	stays := id + " stays as it is."
	var a *action
	switch key {
	case "f":
		a = &action{title: "Fork " + at, args: []string{"fork", at}, says: []string{"Makes a new run with the state of this frame. No task runs yet.", stays}}
	case "r":
		a = &action{
			title: "Replay from " + at, args: []string{"replay", at, "--restore-vcs"},
			says: []string{"Makes a new run with the state of this frame, and runs it with the files of the frame in a new working copy. Commands that never ran in this clone are shown first.", stays},
		}
	case "R":
		a = &action{
			title: "Restore the files of " + at, args: []string{"restore", at}, preview: []string{"restore", at, "--dry-run"},
			says: []string{"Puts the files of this frame into the working copy. Unsaved changes are saved as a frame first."},
		}
	case "t":
		a = &action{title: "Take the run back to " + at, args: []string{"travel", at}, says: []string{"State and files of the run go back to this frame. Later frames are stepped over, and stay in the history; undo takes this back."}}
	case "z":
		a = &action{title: "Undo", args: []string{"undo", id}, says: []string{"Takes back the newest operation on this run: a travel, a reset, a restore, a landing."}}
	case "u":
		a = &action{title: "Resume " + id, args: []string{"resume", id}, says: []string{"Continues the run from its newest frame. Finished tasks do not run again. Commands that never ran in this clone are shown first."}}
	case "a":
		return s.settle(m, "answer"), true
	case "A":
		return s.settle(m, "deny"), true
	case "S":
		m.over = newPrompt(m, ":", commandText([]string{"signal", id, ""}))
		return nil, true
	case "x":
		a = &action{title: "Cancel " + id, args: []string{"cancel", id}, says: []string{"Marks the run as cancelled. A process that runs it ends its tasks. resume continues it."}}
	case "L":
		a = &action{title: "Land " + at, args: []string{"land", at}, says: []string{"Merges what the run changed up to this frame onto the commit that is checked out, and stages it."}}
	case "P":
		a = &action{title: "Push " + id, args: []string{"push", "--run", id}, says: []string{"Pushes this run to the remote. Secrets are looked for first."}}
	case "w":
		if !s.run.Session {
			m.note = "what-if is for sessions of coding agents; r replays a run"
			return nil, true
		}
		m.over = newPrompt(m, ":", commandText([]string{"session", "what-if", at})+" ")
		return nil, true
	case "y":
		return m.copy(at), true
	case "Y":
		return m.copy(fault.CommandLine(fault.Program, s.command()...)), true
	default:
		return nil, false
	}
	return m.ask(a), true
}

// settle shows the action that answers what the run waits for: the wait of the chosen step or, if it does not wait, the first.
func (s *runScreen) settle(m *model, verb string) tea.Cmd {
	var ask *summary.Ask
	for i := range s.run.Asks {
		w := &s.run.Asks[i]
		if step := s.chosen(); ask == nil || step != nil && w.NodeID == step.NodeID && w.Iteration == step.Iteration {
			ask = w
		}
	}
	if ask == nil {
		m.note = "the run waits for nothing"
		return nil
	}
	return m.settle(s.run.Row.ID, ask, verb)
}

// settle shows what answers or denies a request of a run.
func (m *model) settle(run string, ask *summary.Ask, verb string) tea.Cmd {
	if strings.HasPrefix(ask.NodeID, "-") || ask.For == "signal" && strings.HasPrefix(ask.What, "-") { // of a stranger's run: it would be read as a flag
		m.note = "its name begins with a dash: type the command after a colon"
		return nil
	}
	args := []string{verb, run, ask.NodeID}
	if ask.Iteration > 0 {
		args = append(args, "--iteration", strconv.Itoa(ask.Iteration))
	}
	says := []string{ask.What}
	switch {
	case verb == "deny" && ask.For != "approval":
		m.note = "only an approval can be denied"
		return nil
	case ask.For == "human":
		m.over = newForm(ask, args)
		return nil
	case ask.For == "approval" && verb == "answer":
		args[0] = "approve"
	case ask.For == "signal":
		args = []string{"signal", run, ask.What}
		if id := ask.CorrelationID; id != nil && *id != "" {
			args = append(args, "--correlation="+*id)
		}
		return m.ask(&action{title: "Signal " + ask.What, says: []string{"The run waits for a signal of this name."}, args: args})
	case ask.For == "timer":
		m.note = "only time ends this wait"
		return nil
	}
	return m.ask(&action{title: args[0] + " " + ask.NodeID, says: says, args: args})
}
