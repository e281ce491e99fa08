package dialect

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"
)

// Line is a complete line of an agent's file.
type Line struct {
	Facts

	Offset int64  // of the line in the agent's file, in bytes
	Text   []byte // without the line feed
}

// Facts is what a line of an agent's file says.
type Facts struct {
	Vendor  bool   // the line has only texts of the agent's vendor, and is left out
	Slim    []byte // the line without long texts of the vendor; nil if the line has none
	Header  bool   // the line is about the session, and belongs to each cut of the conversation
	Answers bool   // the line is of the model or of a tool
	AtMs    int64  // when the line was written, in milliseconds since 1970; 0 if unknown
	Message string // the id of the model's answer that the line is a part of
	Usage   Usage  // of the whole answer
	Model   string // the model of the answer, or of the answers from here on; "" if the line does not say it
	// Totals are the tokens of the session so far, if the agent counts them so; nil for other lines.
	Totals   *Totals
	Part     string // the id of the message that the words and calls of the line are a part of; "" if it is Message
	Begun    []Call
	Ended    []Result
	Todos    json.RawMessage // the list of todos that the line sets; nil if it sets none
	Session  string          // the agent's own id of the session; "" if the line does not say it
	Folder   string          // the folder in which the agent works; "" if the line does not say it
	Worktree bool            // Folder is the top of a worktree that the agent has entered
	Said     []Saying        // what a person or the model said in words
	Queued   *Queued         // what became of words that a person typed while the agent worked; nil for other lines
	Failed   bool            // the line says that the model could not be asked: the turn has failed unless an answer follows
	Notice   string          // what the agent's program itself said in the model's name; "" for other lines
	Aside    bool            // the line is of a subagent, although it is in the file of the session
	Summary  bool            // the line stands for what was said before it: the agent has shortened its conversation
	Link     *Link           // the place of the line in a conversation that is a tree; nil if the line has none
	Undo     *Undo           // what the line takes back in a conversation that is a list; nil if it takes nothing back
	ForkOf   string          // the agent's own id of the session from which this one was forked; "" if the line does not say it
	ForkAt   int64           // the Number of the last line of that session that belongs to the fork; 0 if the line does not say it
	Number   int64           // the number of the line in its conversation, from 1; 0 if the line does not say it
	ID       string          // what the line and its copies in forks have; "" if that is the ID of Link, or if nothing is known
	Copied   bool            // the line is a copy of one of that session
	LeftOut  bool            // only the Link of a line of the vendor was stored
}

// Printed returns the id of the session that begins with a line of output for programs, such as Claude Code's stream-json. Such output lacks the
// prompts. Printed returns "" for any other line.
func Printed(text []byte) (session string) {
	var line struct {
		Type    string `json:"type"`
		Session string `json:"session_id"`
		Thread  string `json:"thread_id"`
	}
	if decode(text, &line) == nil && (line.Type == "system" || line.Type == "init" || line.Type == "thread.started") {
		session = cmp.Or(line.Session, line.Thread)
	}
	return session
}

// Link is the place of a line in a conversation that is a tree: an agent that goes back goes on from an older line.
type Link struct {
	ID     string
	Parent string // the ID of the line that this line follows; "" if it begins the conversation
	// Kept has the IDs of older lines that stay in the conversation, although this line begins it again. Head and Tail are the IDs of the
	// first and the last of such lines that follow each other; both are "" if Kept lists the lines, or there are none.
	Kept       []string
	Head, Tail string
	Anchor     string // the ID of the line that such lines follow
}

// Undo is what a line takes back of the lines before it. Headers stay.
type Undo struct {
	All     bool   // all lines: the line itself has what stays of them
	Turns   int    // the last prompts, with what follows them
	From    string // the message with this Part, and what follows it; without such a message, what follows the last line with All
	Message string // the message with this Part alone
}

// The roles of a Saying.
const (
	User      = "user"      // a person: the text is a prompt, and begins a turn
	Assistant = "assistant" // the model
)

// Saying is a text of a conversation.
type Saying struct {
	Role string // User or Assistant
	Text string
	// Beside means that the user said it while the agent worked, in a line with the result of a call. Local means that the agent's program did it
	// itself, and the model was not asked. Neither begins a turn.
	Beside, Local bool
}

// Queued describes words that a person typed while the agent worked: they begin to wait, are heard, or are taken back.
type Queued struct {
	Text    string // they wait from now on; "" if the line is about the words that have waited longest
	Heard   bool   // the agent heard them within its turn; otherwise they are the next prompt
	Cleared bool   // the person took all of them back
}

// Result says how a tool call ended.
type Result struct {
	ID     string
	Failed bool
	AtMs   int64  // when the call ended, in milliseconds since 1970; 0 if that is when the line was written
	Output string // what the tool answered, in words; "" if the line does not say it
}

// Usage counts the tokens of a model's answers.
type Usage struct {
	// Cost is what the agent says that the answers cost, in US dollars; 0 if it does not say it.
	Cost          float64 `json:"costUsd,omitempty"`
	Input         int64   `json:"inputTokens"`
	Output        int64   `json:"outputTokens"`
	CacheRead     int64   `json:"cacheReadTokens"`
	CacheCreation int64   `json:"cacheCreationTokens"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Cost: roundCost(u.Cost + v.Cost), Input: u.Input + v.Input, Output: u.Output + v.Output, CacheRead: u.CacheRead + v.CacheRead,
		CacheCreation: u.CacheCreation + v.CacheCreation,
	}
}

// longestModel is the size of the longest name of a model, in bytes.
const longestModel = 100

// modelName returns the name of a model, or "" if no model has such a name: it becomes a part of what a session remembers.
func modelName(name string) string {
	const known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/@+[]"
	if len(name) > longestModel || strings.Trim(name, known) != "" {
		return ""
	}
	return name
}

// Totals are the tokens of a session up to a line. Some agents repeat them.
type Totals struct {
	All  Usage // since the session began, with what came before the agent's file
	Last Usage // of the newest answer alone
}

// Beyond returns by how much u is larger than v, each number on its own.
func (u Usage) Beyond(v Usage) Usage {
	return Usage{
		Cost: roundCost(max(0, u.Cost-v.Cost)), Input: max(0, u.Input-v.Input), Output: max(0, u.Output-v.Output),
		CacheRead: max(0, u.CacheRead-v.CacheRead), CacheCreation: max(0, u.CacheCreation-v.CacheCreation),
	}
}

// roundCost rounds dollars to a millionth of a cent, so that a sum of decimal numbers looks like one. An amount that cannot be a cost, such as a negative number,
// becomes 0.
func roundCost(dollars float64) float64 {
	const most, parts = 1e6, 1e8
	if !(dollars > 0 && dollars < most) { // also if it is no number
		return 0
	}
	return math.Round(dollars*parts) / parts
}
