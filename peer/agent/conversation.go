package agent

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// conversation is the lines of a session's transcripts, in the order in which they were said.
type conversation struct {
	lines   []line
	missing int // placeholders whose secrets this clone does not have
}

// readConversation returns the lines of the transcripts of mem that an entry has, with the secrets that this clone has taken out
// of them. entry can be later than mem, and then has later lines, too.
func readConversation(s *timeline.Store, entry *snapshot.Entry, mem *memory) (*conversation, error) {
	rows, err := entry.Transcript()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	run, err := entry.RunRow()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	book := s.Secrets(run)
	c := new(conversation)
	parts := make(map[string][]line)
	for row, err := range rows.Rows() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		name, offset, err := snapshot.SplitTranscriptKey(row.Key)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if !slices.Contains(mem.Transcripts, name) {
			continue // of a subagent
		}
		whole, err := book.Look(snapshot.Place{Collection: snapshot.CollectionTranscript, Key: row.Key}, row.Value)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		c.missing += len(whole.Missing)
		row.Value = whole.Text
		texts, err := snapshot.DecodeTranscript(row)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		for _, text := range texts {
			parts[name] = append(parts[name], line{readClaude(text), offset, bytes.Clone(text)})
		}
	}
	for _, name := range mem.Transcripts {
		c.lines = append(c.lines, parts[name]...)
	}
	return c, nil
}

// cut returns the first lines of the conversation: those before the prompt, for the frame of a prompt, and otherwise those up to the
// results of the frame's calls. mem is the memory at the frame, before is the number of lines of the frame's own transcripts, and ids
// are the ids of the frame. A call without a result is cut off, because no agent goes on with one.
func cut(lines []line, before int, ids []string) []line {
	kept := lines[:before]
	if slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, "turn:") }) {
		kept = complete(kept)
		for len(kept) > 0 && !kept[len(kept)-1].answers {
			kept = kept[:len(kept)-1]
		}
		return kept
	}
	for i, l := range lines[before:] { // the results that were late
		if slices.ContainsFunc(l.ended, func(r result) bool { return slices.Contains(ids, r.id) }) {
			kept = lines[:before+i+1]
		}
	}
	return complete(kept)
}

// complete returns the first lines, up to the first call without a result.
func complete(lines []line) []line {
	for {
		ended := make(map[string]bool)
		for _, l := range lines {
			for _, r := range l.ended {
				ended[r.id] = true
			}
		}
		open := slices.IndexFunc(lines, func(l line) bool {
			return slices.ContainsFunc(l.begun, func(c Call) bool { return !ended[c.ID] })
		})
		if open < 0 {
			return lines
		}
		lines = lines[:open]
	}
}

// rewriting says how the lines of a conversation become those of another session in another folder.
type rewriting struct {
	sessions       []string // the former ids
	session        string   // the new id
	folder, newDir string   // the former and the new folder; folder is "" if it is unknown
}

// lines returns the rewritten lines of Claude Code, each with a line feed. Ids of sessions and the former folder are replaced wherever they
// occur: without that, the agent would write to the former folder. A line whose parent was not kept follows the line before it.
func (w rewriting) lines(kept []line) []byte {
	var out []byte
	seen, last := make(map[string]bool), ""
	path := pathPattern(w.folder)
	for _, l := range kept {
		text := string(l.text)
		for _, old := range w.sessions {
			text = strings.ReplaceAll(text, old, w.session)
		}
		if path != nil {
			text = path.ReplaceAllString(text, "${1}"+strings.ReplaceAll(inJSON(w.newDir), "$", "$$")+"${2}")
		}
		var node struct {
			ID     string  `json:"uuid"`
			Parent *string `json:"parentUuid"`
			Leaf   string  `json:"leafUuid"`
		}
		known := json.Unmarshal([]byte(text), &node) == nil
		if known && node.Leaf != "" && !seen[node.Leaf] && last != "" {
			text = strings.Replace(text, `"leafUuid":"`+node.Leaf+`"`, `"leafUuid":"`+inJSON(last)+`"`, 1)
		}
		if known && node.ID != "" {
			if node.Parent != nil && !seen[*node.Parent] {
				parent := "null"
				if last != "" {
					parent = `"` + inJSON(last) + `"`
				}
				text = strings.Replace(text, `"parentUuid":"`+*node.Parent+`"`, `"parentUuid":`+parent, 1)
			}
			seen[node.ID], last = true, node.ID
		}
		out = append(append(out, text...), '\n')
	}
	return out
}

// pathPattern returns a pattern that matches a folder in JSON text with the characters around it, its two groups. It does not match
// where the folder's name is only the beginning or the end of another name. For no folder, or the root, it returns nil.
func pathPattern(folder string) *regexp.Regexp {
	if folder == "" || folder == "/" {
		return nil
	}
	return regexp.MustCompile(`(^|[^\w./-])` + regexp.QuoteMeta(inJSON(folder)) + `([^\w.-]|\.[^\w]|$)`)
}

// inJSON returns text as it stands in a JSON string.
func inJSON(text string) string {
	quoted, _ := json.Marshal(text) //nolint:errchkjson // a string
	return string(quoted[1 : len(quoted)-1])
}

// folderOf returns the folder in which the agent worked, or "" if no line says it.
func folderOf(lines []line) string {
	for _, l := range lines {
		var at struct {
			Folder string `json:"cwd"`
		}
		if json.Unmarshal(l.text, &at) == nil && at.Folder != "" {
			return at.Folder
		}
	}
	return ""
}
