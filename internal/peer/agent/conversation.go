package agent

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// conversation is the lines of a session's transcripts, in the order in which they were said.
type conversation struct {
	lines   []dialect.Line
	of      []string // the names of the lines' transcripts
	missing int      // placeholders whose secrets this clone does not have
}

// lineEnd is where a conversation leaves a transcript: after the first lines of a row.
type lineEnd struct {
	Offset int64 `json:"offset"` // of the row
	Lines  int   `json:"lines"`
}

// readConversation returns the lines of the transcripts of mem that an entry has, with the secrets that this clone has taken out
// of them. entry can be later than mem, and then has later lines, too.
func readConversation(s *timeline.Store, speaks *dialect.Dialect, entry *snapshot.Entry, mem *memory) (*conversation, error) {
	rows, err := entry.Transcript()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	run, err := entry.RunRow()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	c := new(conversation)
	book := s.Secrets(run)
	c.lines, c.of, err = mem.storedLines(rows, speaks, func(row page.Row) ([]byte, error) {
		whole, err := book.Look(snapshot.Place{Collection: snapshot.CollectionTranscript, Key: row.Key}, row.Value)
		c.missing += len(whole.Missing)
		return whole.Text, err
	})
	return c, err
}

// storedLines returns the lines of the conversation, one transcript after the other, and the names of their transcripts: see eachLine.
func (m *memory) storedLines(rows *page.Collection, speaks *dialect.Dialect, look func(page.Row) ([]byte, error)) ([]dialect.Line, []string, error) {
	parts := make(map[string][]dialect.Line)
	for line, err := range m.eachLine(rows, speaks, look) {
		if err != nil {
			return nil, nil, err
		}
		parts[line.of] = append(parts[line.of], line.Line)
	}
	var lines []dialect.Line
	var of []string
	for _, name := range m.Transcripts {
		lines = append(lines, parts[name]...)
		of = append(of, slices.Repeat([]string{name}, len(parts[name]))...)
	}
	return lines, of, nil
}

// eachLine yields the lines of the conversation, in the order of their rows: see eachLine.
func (m *memory) eachLine(rows *page.Collection, speaks *dialect.Dialect, look func(page.Row) ([]byte, error)) iter.Seq2[storedLine, error] {
	own := func(name string) bool { return slices.Contains(m.Transcripts, name) } // the others are of subagents
	return func(yield func(storedLine, error) bool) {
		for line, err := range eachLine(rows, speaks, own, look) {
			if end, left := m.Ends[line.of]; err == nil && left && line.end.isBehind(end) {
				continue
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// isBehind reports whether a place of a transcript is behind another one.
func (e lineEnd) isBehind(other lineEnd) bool {
	return e.Offset > other.Offset || e.Offset == other.Offset && e.Lines > other.Lines
}

// after returns the place after line, which is the next one of its transcript.
func (e lineEnd) after(line dialect.Line) lineEnd {
	if line.Offset != e.Offset {
		return lineEnd{line.Offset, 1}
	}
	return lineEnd{e.Offset, e.Lines + 1}
}

// ends returns where a conversation leaves its transcripts that goes on in another one after its first lines. Transcripts that it does not leave before
// their end are not named.
func (c *conversation) ends(kept int) map[string]lineEnd {
	ends := make(map[string]lineEnd)
	for _, name := range c.of[kept:] {
		ends[name] = lineEnd{}
	}
	for i, name := range c.of[:kept] {
		if end, left := ends[name]; left {
			ends[name] = end.after(c.lines[i])
		}
	}
	return ends
}

// before returns the number of lines that were said before an offset of the newest transcript.
func (c *conversation) before(newest string, offset int64) int {
	for i, name := range c.of {
		if name == newest && c.lines[i].Offset >= offset {
			return i
		}
	}
	return len(c.lines)
}

// storedLine is a line of a transcript as it is stored. Its offset is that of its row.
type storedLine struct {
	dialect.Line

	of  string  // the name of the transcript
	end lineEnd // the place after the line
}

// eachLine yields the lines of the transcripts that wanted names, in the order of their rows. rows are the rows of all transcripts. look returns the
// value of a row as it is to be read; if look is nil, the lines are as they are stored, with placeholders for secrets.
func eachLine(
	rows *page.Collection, speaks *dialect.Dialect, wanted func(string) bool, look func(page.Row) ([]byte, error),
) iter.Seq2[storedLine, error] {
	return func(yield func(storedLine, error) bool) {
		for row, err := range rows.Rows() {
			var name string
			var offset int64
			var texts [][]byte
			if err == nil {
				name, offset, err = snapshot.SplitTranscriptKey(row.Key)
			}
			if err == nil && !wanted(name) {
				continue
			}
			if err == nil && look != nil {
				row.Value, err = look(row)
			}
			if err == nil {
				texts, err = snapshot.DecodeTranscript(row)
			}
			if err != nil {
				yield(storedLine{}, timeline.Explain(err))
				return
			}
			for i, text := range texts {
				line := dialect.Line{Facts: speaks.Read(text), Offset: offset, Text: bytes.Clone(text)}
				if !yield(storedLine{line, name, lineEnd{offset, i + 1}}, nil) {
					return
				}
			}
		}
	}
}

// cut returns the indexes of the lines that a course keeps of the conversation: those before the prompt, for the frame of a prompt, and
// otherwise those up to the results of the frame's calls. before is the number of lines of the frame's own transcripts, and ids are the ids of
// the frame. A call without a result is cut off, because no agent goes on with one. The headers at the beginning are always kept: an agent
// can write them late.
func cut(lines []dialect.Line, before int, ids []string) []int {
	if !slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, "turn:") }) {
		return complete(lines, ownLines(lines, endOfCalls(lines, before, ids), -1))
	}
	// The line of the prompt says from where it goes on. An agent can write it before its hook, or later.
	end, next := before, before
	for next > 0 && !lines[next-1].Answers && !lines[next-1].Header {
		next--
	}
	if i := slices.IndexFunc(lines[next:], func(l dialect.Line) bool { return promptIn(l) != "" }); i >= 0 {
		next += i
		end = next
	} else {
		next = -1
	}
	own := complete(lines, ownLines(lines, end, next))
	for first := headers(lines); len(own) > first; own = own[:len(own)-1] {
		if last := lines[own[len(own)-1]]; last.Answers || last.Header || last.Summary {
			return own
		}
	}
	return indexes(headers(lines))
}

// endOfCalls returns the number of lines up to the results of the calls of a frame. A result can come after the frame.
func endOfCalls(lines []dialect.Line, before int, ids []string) int {
	end := before
	named := func(c dialect.Call) bool { return c.Alias != "" && slices.Contains(ids, c.Alias) }
	awaited := unanswered(lines[:before], named)
	from := before
	if i := slices.IndexFunc(lines[before:], func(l dialect.Line) bool { return slices.ContainsFunc(l.Begun, named) }); i >= 0 && awaited == "" {
		from = before + i // the same call can come again later
		end, awaited = from+1, lines[from].Begun[slices.IndexFunc(lines[from].Begun, named)].ID
	}
	for i, l := range lines[before:] { // the results that were late
		late := func(r dialect.Result) bool { return r.ID == awaited && before+i >= from }
		if awaited != "" && slices.ContainsFunc(l.Ended, late) {
			end, awaited = max(end, before+i+1), "" // an agent can write it again
		}
		if slices.ContainsFunc(l.Ended, func(r dialect.Result) bool { return slices.Contains(ids, r.ID) }) {
			end = max(end, before+i+1)
		}
	}
	return end
}

// unanswered returns the id of the first call for which is returns true and that has no result in lines, or "".
func unanswered(lines []dialect.Line, is func(dialect.Call) bool) string {
	ended := make(map[string]bool)
	for _, l := range lines {
		for _, r := range l.Ended {
			ended[r.ID] = true
		}
	}
	for _, l := range lines {
		if i := slices.IndexFunc(l.Begun, func(c dialect.Call) bool { return is(c) && !ended[c.ID] }); i >= 0 {
			return l.Begun[i].ID
		}
	}
	return ""
}

// indexes returns the first n indexes.
func indexes(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i)
	}
	return all
}

// headers returns the number of headers at the beginning of a conversation.
func headers(lines []dialect.Line) int {
	if i := slices.IndexFunc(lines, func(l dialect.Line) bool { return !l.Header }); i >= 0 {
		return i
	}
	return len(lines)
}

// complete returns the first of the indexes of lines, up to the first call without a result.
func complete(lines []dialect.Line, own []int) []int {
	ended := make(map[string]int) // the first line with the result of a call
	for n, i := range slices.Backward(own) {
		for _, r := range lines[i].Ended {
			ended[r.ID] = n
		}
	}
	end := len(own)
	for n, i := range slices.Backward(own) {
		if slices.ContainsFunc(lines[i].Begun, func(c dialect.Call) bool {
			at, found := ended[c.ID]
			return !found || at >= end
		}) {
			end = n
		}
	}
	return own[:end]
}

// mostFolders is the number of folders that are replaced in a conversation: the lines can be a stranger's.
const mostFolders = 100

// foldersOf returns the folders in which the agent worked, in the order of the lines. A folder in the working copy at root, or in a worktree that the
// agent had entered, is the top of it. If no line names a folder, foldersOf returns root.
func foldersOf(lines []dialect.Line, root string) []string {
	var folders, tops []string
	for _, l := range lines {
		if l.Worktree && l.Folder != "" && len(tops) < mostFolders && !slices.Contains(tops, l.Folder) {
			tops = append(tops, l.Folder)
		}
	}
	if root != "" {
		tops = append(tops, root)
	}
	for _, l := range lines {
		folder := l.Folder
		if i := slices.IndexFunc(tops, func(top string) bool { return strings.HasPrefix(folder+"/", top+"/") }); i >= 0 {
			folder = tops[i]
		}
		if folder != "" && len(folders) < mostFolders && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	if len(folders) == 0 {
		return []string{root}
	}
	return folders
}
