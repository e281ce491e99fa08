package dialect

import (
	"encoding/json"
	"slices"
	"strings"
)

// Course is a conversation that becomes another session of the agent, in another folder.
type Course struct {
	Lines    []Line   // what is kept of the conversation
	Sessions []string // the former ids of the session
	Session  string   // the new id
	Folder   string   // in which the agent has worked; "" if unknown
	Earlier  []string // the other folders in which it has worked: a course can be another course of a course
	Dir      string   // the absolute path of the new folder
	Prompt   string   // the next prompt; may be ""
	AtMs     int64    // now, in milliseconds since 1970
	Env      []string
}

// Resumed is a session that an agent can go on with.
type Resumed struct {
	File    string   // the file that was written; "" if nothing was said before
	More    []string // other files that were written
	Size    int64    // of what the agent's own file has of the conversation, in bytes
	Command []string // starts the agent in the new folder
}

// rewrite returns a line with the ids of the former session and the former folders replaced, wherever they occur: without that, the
// agent would write to the former folder.
func (c Course) rewrite(line []byte) string {
	var ids []string
	for _, old := range c.Sessions {
		ids = append(ids, old, c.Session)
	}
	text := strings.NewReplacer(ids...).Replace(string(line)) // in one pass: a stranger's id can be a part of the new one
	folders := slices.SortedFunc(slices.Values(append([]string{c.Folder}, c.Earlier...)), func(a, b string) int { return len(b) - len(a) })
	const mark = "\x00" // is in no JSON text; the new folder can be below a former one
	for _, folder := range folders {
		text = replacePath(text, inJSON(folder), mark)
	}
	return strings.ReplaceAll(text, mark, inJSON(c.Dir))
}

// replacePath replaces a folder in JSON text. The folder stays where its name is only the beginning or the end of another name. If
// the folder is unknown, or the root, text stays as it is.
func replacePath(text, folder, by string) string {
	if folder == "" || folder == "/" {
		return text
	}
	var out strings.Builder
	for {
		at := strings.Index(text, folder)
		if at < 0 {
			out.WriteString(text)
			return out.String()
		}
		before, after := text[:at], text[at+len(folder):]
		out.WriteString(before)
		if beginsName(before) && endsName(after) {
			out.WriteString(by)
		} else {
			out.WriteString(folder)
		}
		text = after
	}
}

// beginsName reports whether a path can begin after before.
func beginsName(before string) bool {
	if before == "" || strings.HasSuffix(before, "file://") {
		return true
	}
	last := before[len(before)-1]
	if strings.IndexByte("nrt", last) >= 0 && strings.HasSuffix(before[:len(before)-1], `\`) {
		return true // an escaped line feed or tab
	}
	return !isNameByte(last) && last != '/'
}

// endsName reports whether a path can end before after. A full stop ends a path if no name goes on behind it.
func endsName(after string) bool {
	after = strings.TrimPrefix(after, ".")
	return after == "" || !isNameByte(after[0])
}

// isNameByte reports whether a byte is usual in names of files.
func isNameByte(b byte) bool {
	return b == '.' || b == '-' || b == '_' || b >= 0x80 || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// inJSON returns text as it stands in a JSON string.
func inJSON(text string) string {
	quoted, _ := json.Marshal(text) //nolint:errchkjson // a string
	return string(quoted[1 : len(quoted)-1])
}

// nodes is the nodes of a conversation that is a tree. Each line has the id of its node and of the node's parent.
type nodes struct {
	seen   map[string]bool
	passed map[string]string // the nodes that nodes without a line follow
	last   string            // the newest node; "" before the first node
}

// newNodes returns nodes without any node.
func newNodes() *nodes { return &nodes{seen: make(map[string]bool), passed: make(map[string]string)} }

// pass notes a node that the course has no line of.
func (n *nodes) pass(link *Link) {
	parent := link.Parent
	if before, ok := n.passed[parent]; ok {
		parent = before
	}
	n.passed[link.ID] = parent
}

// add adds the node of a line, and returns the line. A node whose parent was not kept follows the node before it. member is the member of the
// line with the parent. A line without an id is no node.
func (n *nodes) add(line, member, id string, parent *string) string {
	if id == "" {
		return line
	}
	if parent != nil && !n.seen[*parent] {
		by, before := "null", n.passed[*parent]
		if !n.seen[before] {
			before = n.last
		}
		if before != "" {
			by = `"` + inJSON(before) + `"`
		}
		line = strings.Replace(line, `"`+member+`":"`+inJSON(*parent)+`"`, `"`+member+`":`+by, 1)
	}
	n.seen[id], n.last = true, id
	return line
}
