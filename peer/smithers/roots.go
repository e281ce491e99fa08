package smithers

import (
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/smithersdb"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// rootMark stands for the root's path in predicted rows; restoreRows puts the path there.
const rootMark = "\x00root"

// pathColumn tells whether a column has paths of the machine, and whether it is JSON with
// such paths in it.
func pathColumn(table, column string) (paths, isJSON bool) {
	switch {
	case table == tableRuns && column == "config_json":
		return true, true
	case table == tableRuns:
		return column == "workflow_path" || column == "vcs_root", false
	case table == tableAttempts, table == "_smithers_workspace_states", table == "_smithers_workspace_checkpoints":
		return column == "jj_cwd", false
	case table == "_smithers_vcs_tags":
		return column == "vcs_root", false
	}
	return false, false
}

// clean is a root by which texts can be split; "" for none.
func (r root) clean() string {
	s := strings.TrimRight(string(r), `/\`)
	if len(s) < 2 || !utf8.ValidString(s) {
		return ""
	}
	return s
}

// spelled is the root as it stands in a text.
func (r root) spelled(isJSON bool) string {
	s := r.clean()
	if !isJSON || s == "" {
		return s
	}
	quoted := page.AppendString(nil, s)
	return string(quoted[1 : len(quoted)-1])
}

// split cuts a text at the root's paths; one part means that there are none. Only whole names count:
// /a/b is no path of the root /a.
func (r root) split(text string, isJSON bool) []string {
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

// wholePath tells whether what is between start and end is a path from its beginning, up to the
// end of a name.
func wholePath(text string, start, end int, isJSON bool) bool {
	if isJSON {
		return start > 0 && text[start-1] == '"' && end < len(text) && strings.IndexByte(`"/\`, text[end]) >= 0
	}
	return start == 0 && (end == len(text) || text[end] == '/' || text[end] == '\\')
}

// join is the inverse of split. It takes the root of the file system, too, by which no text can be split.
func (r root) join(parts []string, isJSON bool) string {
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

// relative is a path in the root without it; "" for others.
func (r root) relative(absolute string) string {
	if parts := r.split(absolute, false); len(parts) == 2 {
		return strings.TrimLeft(strings.ReplaceAll(parts[1], `\`, "/"), "/")
	}
	return ""
}

// markedPath is a predicted path in the root; NULL for none.
func markedPath(relative string) smithersdb.Value {
	if relative == "" {
		return smithersdb.Value{}
	}
	return textValue(rootMark + "/" + relative)
}

// placed is a predicted value with the root's path in it.
func (r root) placed(table, column string, v smithersdb.Value) smithersdb.Value {
	paths, isJSON := pathColumn(table, column)
	if paths && v.Kind == smithersdb.Text && strings.Contains(v.Bytes, rootMark) {
		return textValue(r.join(strings.Split(v.Bytes, rootMark), isJSON))
	}
	return v
}

// appendRooted appends {"root":[…]} for a text with the root's path in it.
func (r root) appendRooted(b []byte, v smithersdb.Value, isJSON bool) (_ []byte, ok bool) {
	if v.Kind != smithersdb.Text || !utf8.ValidString(v.Bytes) {
		return b, false
	}
	parts := r.split(v.Bytes, isJSON)
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

// movable are the rows of a table with rootMark in place of the root's path; found reports whether any row has such a path.
func (r root) movable(table smithersdb.Table, rows []smithersdb.Row) (_ []smithersdb.Row, found bool) {
	marked := slices.Clone(rows)
	for _, c := range table.Columns {
		paths, isJSON := pathColumn(table.Name, c.Name)
		if !paths {
			continue
		}
		for i, row := range marked {
			v := row[c.Name]
			if v.Kind != smithersdb.Text || !utf8.ValidString(v.Bytes) {
				continue
			}
			if parts := r.split(v.Bytes, isJSON); len(parts) > 1 {
				marked[i], found = maps.Clone(row), true
				marked[i][c.Name] = textValue(root(rootMark).join(parts, isJSON))
			}
		}
	}
	return marked, found
}

// hasPaths reports whether a table has columns with paths.
func hasPaths(table smithersdb.Table) bool {
	return slices.ContainsFunc(table.Columns, func(c smithersdb.Column) bool {
		paths, _ := pathColumn(table.Name, c.Name)
		return paths
	})
}

// rootOf is the folder that a run's paths are in: that of its repository, or that it was started
// in, or that of its workflow.
func rootOf(row smithersdb.Row) root {
	if at, ok := columnText(row, "vcs_root"); ok && root(at).clean() != "" {
		return root(at)
	}
	if config, err := takenMembers(columnJSON(row, "config_json")); err == nil {
		if at := root(memberText(config, "rootDir")); at.clean() != "" {
			return at
		}
	}
	if at, ok := columnText(row, "workflow_path"); ok && strings.Contains(at, "/") {
		return root(path.Dir(at))
	}
	return ""
}
