// Package dialect is how each coding agent speaks: what it hands to its hooks, what a line of its own file with the conversation
// says, where its hooks are set up, and how it goes on with a conversation. It reads no repository.
package dialect

import "slices"

// Dialect is how one coding agent speaks. Its functions can be called at the same time by several goroutines.
type Dialect struct {
	// Name is the agent's name: the first part of the ids of its runs, and the name of their workflow.
	Name string
	// Parse returns the event in what the agent hands to a hook. name is the event for which the hook was set up. Parse ignores
	// unknown members and events. It returns an error if input is not a JSON object that names a session.
	Parse func(name string, input []byte) (Event, error)
	// Read returns what a line of the agent's own file says. A line that Read does not understand is kept and says nothing.
	Read func(text []byte) Facts
	// HooksOnly says that the lines of the agent's own file are kept, and Read understands none of them.
	HooksOnly bool
	// NamesFiles says that the agent's own file is named for the session: SESSION.jsonl. A forked session can have lines of another.
	NamesFiles bool
	// UUIDs says that the agent's ids of sessions are UUIDs, so that a file with another name was renamed: its lines name the session.
	UUIDs bool
	// Unfold returns the lines of a session that an older version of the agent wrote as one document, or nil for another file. It is nil if no
	// version did.
	Unfold func(file []byte) []byte
	// WithoutImages returns a line with a text in the place of each image, or nil if the line has none. It is nil if [WithoutImages] does that.
	WithoutImages func(text []byte) []byte
	// Hooks is where the agent's hooks are set up. It is nil if git-smithers cannot set them up.
	Hooks *Hooks
	// Pasted has the hooks that a person adds to a file that git-smithers does not edit. It is nil if Hooks is set, or if there are none.
	Pasted *Pasted
	// SubagentFile returns the file of a subagent, of which no event names the last lines. transcript is the file of the session, and subagent an id in the
	// form of a session's. It is nil if an event does.
	SubagentFile func(transcript, subagent string) string
	// Shortens says that the agent takes lines out of the end of its own file when a person goes back.
	Shortens bool
	// FileOf returns the path of the agent's own file with a session, of which only some events say it. env is the hook's. It is nil if each event does.
	FileOf func(env []string, session string) string
	// Resume puts a conversation where the agent finds it. It is nil if the agent cannot go on with a cut conversation.
	Resume func(Course) (Resumed, error)
	// Headless returns the command with which the agent goes on with a session in the current folder, without a terminal: it reads a prompt on its standard
	// input, and ends after the answer. It is nil if the agent has no such command.
	Headless func(Seat) ([]string, error)
	// NewSession returns a new id of a session. It is nil if such an id is a UUID.
	NewSession func() string
	// Variable is an environment variable that the agent sets for the commands of its tools. It is "" if none is known.
	Variable string
	// CoAuthor is the name and address that the agent itself puts into commits. It is "" if the agent has none.
	CoAuthor string
}

// Hooks says where an agent's hooks are set up. Either Events and Entry are set, for an agent with settings in JSON, or Program is,
// for an agent that loads programs.
type Hooks struct {
	File   string   // of the user alone; relative to the top of the working copy, with slashes
	Shared string   // of the whole project, like File; "" if the agent has no such file
	User   UserFile // of the user, for all projects
	Events []string // the events for which hooks are set up
	// Entry returns the entry for the list of an event: a value for encoding/json. The command is in it.
	Entry func(event, command string) any
	// Program is the whole text of File.
	Program string
	// Trust says what the user must do before the agent runs the hooks. It is "" if nothing is to be done.
	Trust string
	// Strict means that the agent ignores a file with comments or trailing commas.
	Strict bool
	// OwnInMain means that in a linked worktree the agent reads File of the main checkout.
	OwnInMain bool
	// Version is the member version of File; 0 for none.
	Version int
	// Hides lists files beside File with hooks that the agent does not read any more once File is there.
	Hides []string
	// OwnAtTop and SharedAtTop mean that only an agent that starts at the top of the working copy reads File, or Shared.
	OwnAtTop, SharedAtTop bool
}

// Pasted is the hooks of an agent with settings in TOML, in the user's home folder alone.
type Pasted struct {
	File   string // as a shell knows it
	Events []string
}

// UserFile is a file in a folder of the user's: the one that the environment variable Variable names, or Folder in the home folder.
type UserFile struct{ Variable, Folder, Name string }

// all lists the dialects, in the order in which people see them.
var all = []*Dialect{&claude, &codex, &gemini, &qwen, &copilot, &kilo, &opencode, &pi, &cursor, &droid, &kimi, &generic}

// Of returns the dialect of the agent with the name, and whether there is one.
func Of(name string) (*Dialect, bool) {
	i := slices.IndexFunc(all, func(d *Dialect) bool { return d.Name == name })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

// For returns the dialect of the agent with the name, or that of any agent if the agent is unknown.
func For(name string) *Dialect {
	if d, ok := Of(name); ok {
		return d
	}
	return &generic
}

// Names returns the names of all agents.
func Names() []string {
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
	}
	return names
}

// ReadsTranscripts reports whether Read understands the lines of the agent's own file.
func (d *Dialect) ReadsTranscripts() bool { return !d.HooksOnly }
