package dbrow

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
)

// Root is the path of the folder that contains the absolute paths of a run. Paths are stored without the
// root; see Override.
type Root string

// RootMark stands for the root's path in predicted rows. Restore replaces the mark by the path.
const RootMark = "\x00root"

// pathColumn returns true for paths if the column has absolute paths of the machine. isJSON is true if the
// column is JSON and the paths are in its strings; otherwise the whole text is one path.
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

// Clean returns the root without slashes at its end. It returns "" if the rest has fewer than two bytes or is
// not UTF-8, because texts cannot be split at such a root.
func (r Root) Clean() string {
	s := strings.TrimRight(string(r), `/\`)
	if len(s) < 2 || !utf8.ValidString(s) {
		return ""
	}
	return s
}

// spelled returns the cleaned root as a text contains it. If isJSON is true, the root is escaped as in a JSON
// string.
func (r Root) spelled(isJSON bool) string {
	s := r.Clean()
	if !isJSON || s == "" {
		return s
	}
	quoted := page.AppendString(nil, s)
	return string(quoted[1 : len(quoted)-1])
}

// Split cuts text at each occurrence of the root's path and returns the parts. If text has no such path, the
// result is text alone. In a text that is not JSON, the path must be at the start; in JSON, at the start of a
// string. Only whole names match: /a/bc is not in the root /a/b.
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

// wholePath reports whether text[start:end] is at the place where a path begins, and end is the end of a name
// in the path.
func wholePath(text string, start, end int, isJSON bool) bool {
	if isJSON {
		return start > 0 && text[start-1] == '"' && end < len(text) && strings.IndexByte(`"/\`, text[end]) >= 0
	}
	return start == 0 && (end == len(text) || text[end] == '/' || text[end] == '\\')
}

// Join returns the text in which the root's path stands between each two of parts. It is the inverse of Split,
// and isJSON has the same meaning. Join also accepts the root "/", at which Split never cuts.
func (r Root) Join(parts []string, isJSON bool) string {
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

// Relative returns path, an absolute path, as a path relative to the root, with slashes. It returns "" if path is not
// below the root.
func (r Root) Relative(path string) string {
	if parts := r.Split(path, false); len(parts) == 2 {
		return strings.TrimLeft(strings.ReplaceAll(parts[1], `\`, "/"), "/")
	}
	return ""
}

// MarkedPath returns the TEXT value RootMark/<relative>, which stands for the path relative in any root. If
// relative is "", it returns NULL.
func MarkedPath(relative string) source.Value {
	if relative == "" {
		return source.Value{}
	}
	return Text(RootMark + "/" + relative)
}

// placed returns v, the predicted value of a column, with the root's path in place of each RootMark. A value
// without a RootMark is returned unchanged.
func (r Root) placed(table, column string, v source.Value) source.Value {
	paths, isJSON := pathColumn(table, column)
	if paths && v.Kind == source.Text && strings.Contains(v.Bytes, RootMark) {
		return Text(r.Join(strings.Split(v.Bytes, RootMark), isJSON))
	}
	return v
}

// appendRooted appends {"root":[…]} to b and returns true if v is a TEXT with the root's path in it. For any
// other value it appends nothing and returns false. isJSON has the meaning of Split.
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

// Movable returns a copy of rows with RootMark in place of the root's path in the columns with paths. found
// reports whether any row has such a path.
func (r Root) Movable(table source.Table, rows []source.Row) (_ []source.Row, found bool) {
	marked := slices.Clone(rows)
	for _, c := range table.Columns {
		paths, isJSON := pathColumn(table.Name, c.Name)
		if !paths {
			continue
		}
		for i, row := range marked {
			v := row[c.Name]
			if v.Kind != source.Text || !utf8.ValidString(v.Bytes) {
				continue
			}
			if parts := r.Split(v.Bytes, isJSON); len(parts) > 1 {
				marked[i], found = maps.Clone(row), true
				marked[i][c.Name] = Text(Root(RootMark).Join(parts, isJSON))
			}
		}
	}
	return marked, found
}

// HasPaths reports whether the table has a column with paths.
func HasPaths(table source.Table) bool {
	return slices.ContainsFunc(table.Columns, func(c source.Column) bool {
		paths, _ := pathColumn(table.Name, c.Name)
		return paths
	})
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
