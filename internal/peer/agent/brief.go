package agent

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// maxTitle is the length of the longest title of a session, in characters.
const maxTitle = 80

// Brief is what an agent needs to know to go on from a frame of a session. Secrets are placeholders in it.
type Brief struct {
	At      timeline.Address
	Agent   string
	Session string // the agent's own id
	Title   string // the first words of the first prompt
	Turn    int    // 0 before the first prompt
	State   string // of the turn; "" before the first prompt
	Prompt  string // of the turn
	Todos   []Todo
	Tools   []ToolCount // since the session began, the most frequent first
	Files   []FileCount // since the session's first frame, by path; of a bare frame, those that calls name
	Git     GitState
	Bare    bool   // no files were captured for the frame: an imported session has none
	Summary string // the model's last message
}

// ToolCount counts the calls of a tool.
type ToolCount struct {
	Tool   string `json:"tool"`
	Calls  int    `json:"calls"`
	Failed int    `json:"failed"` // of Calls
}

// FileCount counts the changed lines of a file.
type FileCount struct {
	Path    string `json:"path"`         // spelled as in vcs.json: see snapshot.EscapePath
	Added   *int64 `json:"linesAdded"`   // nil if the lines were not counted: the file is binary or large
	Removed *int64 `json:"linesRemoved"` // nil like Added
}

// BriefOf returns the brief of a session at an entry. Codes: invalid_input if the run is not a session; limit_exceeded if too many
// files have changed.
func BriefOf(ctx context.Context, s *timeline.Store, at *timeline.LoadedEntry) (*Brief, error) {
	mem, speaks, err := sessionAt(at)
	if err != nil {
		return nil, err
	}
	b := &Brief{At: at.Address, Agent: mem.Agent, Session: mem.session(), Turn: mem.Turn}
	state, err := at.Entry.State()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if err := b.takeTurn(state); err != nil {
		return nil, err
	}
	if err := b.takeSummary(at.Entry, state, speaks, mem); err != nil {
		return nil, err
	}
	if b.Tools, err = toolCounts(at.Entry); err != nil {
		return nil, err
	}
	return b, b.takeFiles(ctx, s, at)
}

// takeTurn sets what the rows of the turn say.
func (b *Brief) takeTurn(state *snapshot.State) error {
	first, _, err := PromptOf(state, 1)
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(strings.TrimSpace(first), "\n")
	b.Title = plain.Shorten(line, maxTitle)
	if b.Prompt, _, err = PromptOf(state, b.Turn); err != nil {
		return err
	}
	node, found, err := rowOf(state.Nodes(), snapshot.Key(turnNode, b.Turn), snapshot.DecodeNode)
	if found {
		b.State = string(node.State)
	}
	if err == nil {
		b.Todos, err = newestTodos(state, b.Turn)
	}
	return err
}

// takeSummary sets the model's last message: the answer of the turn or, before there is one, what the model said last.
func (b *Brief) takeSummary(entry *snapshot.Entry, state *snapshot.State, speaks *dialect.Dialect, mem *memory) error {
	_, answer, err := PromptOf(state, b.Turn)
	if b.Summary = answer; err != nil || answer != "" {
		return err
	}
	rows, err := entry.Transcript()
	if err != nil {
		return timeline.Explain(err)
	}
	lines, _, err := mem.storedLines(rows, speaks, nil)
	if err != nil {
		return err
	}
	for _, line := range lines {
		for _, said := range line.Said {
			if said.Role == dialect.Assistant {
				b.Summary = said.Text
			}
		}
	}
	for turn := b.Turn - 1; turn > 0 && b.Summary == ""; turn-- {
		if _, b.Summary, err = PromptOf(state, turn); err != nil {
			return err
		}
	}
	return nil
}

// toolCounts counts the tool calls of a session up to an entry.
func toolCounts(entry *snapshot.Entry) ([]ToolCount, error) {
	counts := make(map[string]*ToolCount)
	for call, err := range entry.AllToolCalls() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		count := counts[call.ToolName]
		if count == nil {
			count = &ToolCount{Tool: call.ToolName}
			counts[call.ToolName] = count
		}
		count.Calls++
		if call.Status == snapshot.ToolCallFailed {
			count.Failed++
		}
	}
	tools := []ToolCount{}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		tools = append(tools, *counts[name])
	}
	slices.SortStableFunc(tools, func(a, b ToolCount) int { return cmp.Compare(b.Calls, a.Calls) })
	return tools, nil
}

// takeFiles sets what vcs.json says, and counts the changes of files.
func (b *Brief) takeFiles(ctx context.Context, s *timeline.Store, at *timeline.LoadedEntry) error {
	b.Files = []FileCount{}
	vcs, err := at.Entry.VCSRevision()
	if err != nil {
		return timeline.Explain(err)
	}
	b.Bare = vcs == nil || vcs.Tree.IsZero()
	if b.Git, err = gitStateOf(s.Objects(), vcs); err != nil {
		return err
	}
	if b.Bare {
		named, err := namedFiles(at, "")
		for _, path := range slices.Sorted(maps.Keys(named)) {
			if named[path] {
				b.Files = append(b.Files, FileCount{Path: snapshot.EscapePath(path)})
			}
		}
		return err
	}
	frames, err := framesUpTo(s, at)
	if err != nil {
		return err
	}
	for _, frame := range frames {
		first, err := frame.VCSRevision()
		if err != nil {
			return timeline.Explain(err)
		}
		if first != nil && !first.Tree.IsZero() {
			b.Files, err = fileCounts(ctx, s, first.Tree, vcs.Tree)
			return err
		}
	}
	return nil
}

// fileCounts counts the changed lines of the files that differ between two trees. The result is never nil.
func fileCounts(ctx context.Context, s *timeline.Store, from, to objstore.ID) ([]FileCount, error) {
	counts := []FileCount{}
	if from == to {
		return counts, nil
	}
	if err := files.CheckChanges(ctx, s, from, to); err != nil {
		return nil, err
	}
	git, args := files.Numstat(s)
	out, err := git.Run(ctx, append(args, "-z", from.String(), to.String())...)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	const columns = 3
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		fields := strings.SplitN(line, "\t", columns)
		if len(fields) < columns {
			continue
		}
		count := FileCount{Path: snapshot.EscapePath(fields[columns-1])}
		if added, removed, ok := files.CountedLines(fields); ok {
			count.Added, count.Removed = &added, &removed
		}
		counts = append(counts, count)
	}
	return counts, nil
}
