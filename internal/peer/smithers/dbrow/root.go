package dbrow

import (
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

// Root is the path of the folder that contains the absolute paths of a run. Stored paths lack this path; see
// KeptRow.
type Root string

// pathColumn returns how a column stores absolute paths of the machine. paths is false if the column has no such
// paths. isJSON is true if the column is JSON and the paths are in its strings. If paths is true and isJSON is
// false, the whole text is one path.
func pathColumn(table, column string) (paths, isJSON bool) {
	switch {
	case table == "_smithers_runs" && column == "config_json":
		return true, true
	case table == "_smithers_runs":
		return column == "workflow_path" || column == "vcs_root", false
	case table == "_smithers_attempts", table == "_smithers_workspace_states", table == "_smithers_workspace_checkpoints":
		return column == "jj_cwd", false
	case table == "_smithers_vcs_tags":
		return column == "vcs_root", false
	}
	return false, false
}

// Clean returns the root without slashes and backslashes at its end. It returns "" if the result would have fewer
// than two bytes or is not UTF-8, because texts cannot be split at such a root.
func (r Root) Clean() string {
	s := strings.TrimRight(string(r), `/\`)
	if len(s) < 2 || !utf8.ValidString(s) {
		return ""
	}
	return s
}

// spelled returns the cleaned root as the text of a column contains it. If isJSON is true, the root is escaped
// as in a JSON string.
func (r Root) spelled(isJSON bool) string {
	s := r.Clean()
	if !isJSON || s == "" {
		return s
	}
	quoted := page.AppendString(nil, s)
	return string(quoted[1 : len(quoted)-1])
}

// Split cuts text at each occurrence of the root's path, and returns the parts without the path. If text has no
// such path, the result is text alone. If isJSON is false, the path must be at the start of text. If isJSON is
// true, text is JSON, and the path must be at the start of a JSON string in text. Only whole names match: /a/bc
// is not in the root /a/b.
func (r Root) Split(text string, isJSON bool) []string {
	s := r.spelled(isJSON)
	if s == "" {
		return []string{text}
	}
	var parts []string
	for from := 0; ; {
		i := strings.Index(text[from:], s)
		if i < 0 {
			return append(parts, text)
		}
		i += from
		if end := i + len(s); wholePath(text, i, end, isJSON) {
			parts, text, from = append(parts, text[:i]), text[end:], 0
		} else {
			from = i + 1
		}
	}
}

// wholePath reports whether a path begins at start, and text[start:end] ends at the end of a name in this path.
// If isJSON is false, a path begins only at the start of text. If isJSON is true, a path begins after a quote.
func wholePath(text string, start, end int, isJSON bool) bool {
	if isJSON {
		return start > 0 && text[start-1] == '"' && end < len(text) && strings.IndexByte(`"/\`, text[end]) >= 0
	}
	return start == 0 && (end == len(text) || text[end] == '/' || text[end] == '\\')
}

// Join joins parts with the root's path between them. It is the inverse of Split, and isJSON has the same
// meaning. Split never cuts at the root "/", but Join accepts this root.
func (r Root) Join(parts []string, isJSON bool) string {
	// top means that the root is "/".
	top := r != "" && strings.Trim(string(r), "/") == ""
	var b strings.Builder
	for i, part := range parts {
		switch {
		case i == 0:
		case top && !strings.HasPrefix(part, "/"):
			b.WriteByte('/')
		default:
			b.WriteString(r.spelled(isJSON))
		}
		b.WriteString(part)
	}
	return b.String()
}

// Relative returns path, an absolute path, as a path relative to the root, with slashes. It returns "" if path
// is the root or is not below the root.
func (r Root) Relative(path string) string {
	if parts := r.Split(path, false); len(parts) == 2 {
		return strings.TrimLeft(strings.ReplaceAll(parts[1], `\`, "/"), "/")
	}
	return ""
}

// appendRooted appends v to b in the form {"root":[…]} if v is a TEXT with the root's path. It then returns the
// extended slice and true. For any other value it returns b and false. isJSON has the meaning of Split.
func (r Root) appendRooted(b []byte, v source.Value, isJSON bool) (_ []byte, ok bool) {
	if v.Kind != source.Text || !utf8.ValidString(v.Bytes) {
		return b, false
	}
	parts := r.Split(v.Bytes, isJSON)
	if len(parts) < 2 {
		return b, false
	}
	b = append(b, `{"root":[`...)
	for i, part := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = page.AppendString(b, part)
	}
	return append(b, "]}"...), true
}

// IsProcessColumn reports whether a column of one of Smithers' own tables describes the process that executes the
// run. Such columns are not imported. The column with the data of a task's heartbeat does not count, because the
// task's next attempt receives the data.
func IsProcessColumn(table, column string) bool {
	switch column {
	case "runtime_owner_id", "heartbeat_at_ms", "hijack_requested_at_ms", "hijack_target",
		"cancel_request_client_identity", "cancel_request_client_pid":
		return strings.HasPrefix(table, "_smithers_")
	}
	return false
}
