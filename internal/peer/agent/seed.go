package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// maxSummary is the size of the longest summary of a checkpoint, in bytes.
const maxSummary = 300

// Checkpoint is a frame of a session as a record of its own. The patches of all checkpoints, applied in order to the files of the first
// one, give the files of each.
type Checkpoint struct {
	Time      string     `json:"ts"`    // RFC 3339
	Event     string     `json:"event"` // always "checkpoint"
	ID        string     `json:"checkpoint_id"`
	Session   string     `json:"session_id"` // the agent's own id
	Label     string     `json:"label"`
	Work      WorkState  `json:"wrk_state"`
	Git       GitState   `json:"git_state"`
	ToolCalls int        `json:"tool_call_count"` // since the session began
	Diffs     []FileDiff `json:"file_diffs"`      // since the checkpoint before; never nil
	Summary   string     `json:"context_summary"` // the first sentence of the turn's last answer of the model; "" before there is one
}

// WorkState is how far an agent is with its todos. No list or map is nil.
type WorkState struct {
	Active  []string       `json:"active"`           // the todos that the agent works on
	Touched []string       `json:"touched"`          // the todos that the agent has begun since the session began, the first begun first
	Percent map[string]int `json:"percent_complete"` // 100 for a todo that is done, otherwise 0
}

// Checkpoints writes the frames of a session as records.
type Checkpoints struct {
	From     int64                 // the first frame that is written
	Progress func(done, total int) // called for each frame; may be nil
}

// Write calls write with the checkpoint of each frame of the session up to the entry at, oldest first. Secrets stay placeholders. Codes:
// invalid_input if the run is not a session; limit_exceeded if the files of two frames differ too much.
func (c Checkpoints) Write(ctx context.Context, s *timeline.Store, at *timeline.LoadedEntry, write func(Checkpoint) error) error {
	mem, speaks, err := sessionAt(at)
	if err != nil {
		return err
	}
	frames, err := framesUpTo(s, at)
	if err != nil {
		return err
	}
	rows, err := at.Entry.Transcript()
	if err != nil {
		return timeline.Explain(err)
	}
	j := &seedJob{store: s, run: at.Address.Run, session: mem.session()}
	if j.said, err = answersOf(rows, speaks); err != nil {
		return err
	}
	for i, frame := range frames {
		if err := ctx.Err(); err != nil {
			return timeline.Explain(err)
		}
		if c.Progress != nil {
			c.Progress(i, len(frames))
		}
		number := int64(i)
		record, err := j.next(ctx, frame, number, number >= c.From)
		if err == nil && number >= c.From {
			err = write(record)
		}
		if err != nil {
			return err
		}
		frames[i] = nil // an entry keeps what was read of it
	}
	return nil
}

// framesUpTo returns the frames of a run up to an entry, by number. Frame 0 of a fork can be a frame of its parent.
func framesUpTo(s *timeline.Store, at *timeline.LoadedEntry) ([]*snapshot.Entry, error) {
	if at.Entry.Run != at.Address.Run {
		return []*snapshot.Entry{at.Entry}, nil
	}
	var frames []*snapshot.Entry
	for entry, err := range s.Chain(at.Entry) {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if entry.Frame != snapshot.NoFrame {
			frames = append(frames, entry)
		}
	}
	slices.Reverse(frames)
	if len(frames) > 0 && frames[0].Frame == 0 {
		return frames, nil
	}
	row, err := at.Entry.RunRow()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	first, err := s.FrameInChain(row, at.Entry, 0)
	return append([]*snapshot.Entry{first}, frames...), err
}

// answer is a text of the model in a transcript.
type answer struct {
	offset  int64 // of its row
	summary string
}

// answersOf returns the summaries of what the model has said in words, by transcript.
func answersOf(rows *page.Collection, speaks *dialect.Dialect) (map[string][]answer, error) {
	said := make(map[string][]answer)
	all := func(string) bool { return true }
	for line, err := range eachLine(rows, speaks, all, nil) {
		if err != nil {
			return nil, err
		}
		for _, saying := range line.Said {
			if saying.Role == dialect.Assistant {
				said[line.of] = append(said[line.of], answer{line.Offset, firstSentence(saying.Text)})
			}
		}
	}
	return said, nil
}

// seedJob makes the checkpoints of one session. Its fields are of the frame before.
type seedJob struct {
	store   *timeline.Store
	run     string
	session string
	said    map[string][]answer

	tree    objstore.ID // the files of the newest frame with files; zero if there is none
	begun   bool
	turn    int
	turnIn  string // the transcript in which the turn began
	turnAt  int64  // the offset after the lines of the turns before
	todos   []Todo
	touched []string // see WorkState
}

// next returns the checkpoint of the next frame. If full is false, the checkpoint is not written, and lacks patches.
func (j *seedJob) next(ctx context.Context, frame *snapshot.Entry, number int64, full bool) (Checkpoint, error) {
	c := Checkpoint{
		Time: time.UnixMilli(frame.AtMs).UTC().Format("2006-01-02T15:04:05.000Z07:00"), Event: "checkpoint", Session: j.session,
		ID: fmt.Sprintf("ckpt-%s-%d", j.run, number), Label: frame.Subject, Diffs: []FileDiff{},
	}
	if err := j.takeWork(frame, &c); err != nil {
		return c, err
	}
	return c, j.takeFiles(ctx, frame, &c, full)
}

// takeWork sets what the conversation says of the work.
func (j *seedJob) takeWork(frame *snapshot.Entry, c *Checkpoint) error {
	mem, err := memoryOf(frame)
	if err != nil {
		return err
	}
	state, err := frame.State()
	if err != nil {
		return timeline.Explain(err)
	}
	calls, err := frame.ToolCalls()
	if err != nil {
		return timeline.Explain(err)
	}
	c.ToolCalls = calls.Len()
	name := mem.transcript()
	switch {
	case !j.begun || mem.Turn != j.turn:
		j.turnAt = mem.Read[name].Offset
	case name != j.turnIn: // the agent has written its file anew
		j.turnAt = 0
	}
	j.turnIn = name
	todos, found, err := todosOf(state, mem.Turn)
	if !j.begun {
		todos, err = newestTodos(state, mem.Turn)
	}
	if err != nil {
		return err
	}
	if found || !j.begun {
		j.todos = todos
	}
	j.begun, j.turn = true, mem.Turn
	c.Work = j.work()
	for _, a := range j.said[name] {
		if a.offset >= j.turnAt && a.offset < mem.Read[name].Offset {
			c.Summary = a.summary
		}
	}
	_, told, err := PromptOf(state, mem.Turn)
	if told != "" {
		c.Summary = firstSentence(told)
	}
	return err
}

// work returns how far the agent is with its todos, and notes those that it has begun.
func (j *seedJob) work() WorkState {
	w := WorkState{Active: []string{}, Percent: make(map[string]int, len(j.todos))}
	for _, todo := range j.todos {
		w.Percent[todo.Content] = 0
		if todo.Done {
			w.Percent[todo.Content] = 100
		} else if todo.Active {
			w.Active = append(w.Active, todo.Content)
		}
		if (todo.Done || todo.Active) && !slices.Contains(j.touched, todo.Content) {
			j.touched = append(j.touched, todo.Content)
		}
	}
	w.Touched = append([]string{}, j.touched...)
	return w
}

// takeFiles sets what vcs.json says, and the changes of the files.
func (j *seedJob) takeFiles(ctx context.Context, frame *snapshot.Entry, c *Checkpoint, full bool) error {
	vcs, err := frame.VCSRevision()
	if err != nil {
		return timeline.Explain(err)
	}
	if c.Git, err = gitStateOf(j.store.Objects(), vcs); err != nil {
		return err
	}
	if vcs == nil || vcs.Tree.IsZero() {
		return nil
	}
	if full && !j.tree.IsZero() {
		if c.Diffs, err = filePatches(ctx, j.store, j.tree, vcs.Tree); err != nil {
			return err
		}
	}
	j.tree = vcs.Tree
	return nil
}

// firstSentence returns the first sentence of a text: up to a full stop, a question mark or an exclamation mark before a space, or up
// to the end of the line.
func firstSentence(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")), "\n")
	for i, r := range line {
		next, _ := utf8.DecodeRuneInString(line[i+utf8.RuneLen(r):])
		if strings.ContainsRune(".!?", r) && next == ' ' || strings.ContainsRune("。！？", r) {
			line = line[:i+utf8.RuneLen(r)]
			break
		}
	}
	return plain.Cut(strings.TrimSpace(line), maxSummary)
}
