package snapshot

import (
	"bytes"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// encodeVCS is the bytes of vcs.json.
func encodeVCS(v VCS) []byte { return append(appendVCS(nil, nil, v), '\n') }

// appendVCS appends a working copy; that of a task has a name.
func appendVCS(b []byte, name *string, v VCS) []byte {
	b = append(b, '{')
	if len(v.Altered) > 0 {
		b = appendArray(b, "altered", v.Altered, appendAltered)
	}
	b = appendCount(b, "alteredMore", v.AlteredMore)
	if len(v.Attempts) > 0 {
		b = appendArray(b, "attempts", v.Attempts, page.AppendString)
	}
	b = appendOptional(b, "branch", v.Branch)
	b = appendOptional(b, "changeId", v.ChangeID)
	b = appendOptional(b, "commitId", v.CommitID)
	if v.Conflicted {
		b = append(appendName(b, "conflicted"), "true"...)
	}
	b = appendIntMember(b, "frame", v.Frame)
	if len(v.LeftOut) > 0 {
		b = appendArray(b, "leftOut", v.LeftOut, appendLeftOut)
	}
	b = appendCount(b, "leftOutMore", v.LeftOutMore)
	if name != nil {
		b = appendStringMember(b, "name", *name)
	}
	b = appendOptional(b, "operationId", v.Operation)
	b = appendOptional(b, "root", v.Root)
	b = appendOptional(b, "scope", v.Scope)
	b = appendOptionalID(b, "treeId", v.Tree)
	b = appendStringMember(b, "type", v.Type)
	if len(v.Worktrees) > 0 {
		b = appendArray(b, "worktrees", v.Worktrees, appendWorktree)
	}
	return append(b, '}')
}

func appendAltered(b []byte, a Altered) []byte {
	b = appendStringMember(append(b, '{'), "by", a.By)
	b = appendStringMember(b, "path", EscapePath(a.Path))
	return append(b, '}')
}

func appendLeftOut(b []byte, l LeftOut) []byte {
	b = appendCount(append(b, '{'), "bytes", l.Bytes)
	b = appendStringMember(b, "path", EscapePath(l.Path))
	b = appendStringMember(b, "reason", l.Reason)
	return append(b, '}')
}

func appendWorktree(b []byte, w Worktree) []byte { return appendVCS(b, &w.Name, w.VCS) }

// decodeVCS is the strict inverse of encodeVCS.
func decodeVCS(id objstore.ID, data []byte) (*VCS, error) {
	m := metadata{rest: data}
	v := readVCS(&m, nil)
	if !m.done("\n") || !bytes.Equal(encodeVCS(v), data) {
		return nil, corrupt(id, "vcs.json: %v", errNotCanonical)
	}
	if err := v.check(); err != nil {
		return nil, corrupt(id, "vcs.json: %v", err)
	}
	return &v, nil
}

func readVCS(m *metadata, name *string) VCS {
	var v VCS
	if m.optional("altered") {
		v.Altered = elements(m, readAltered)
	}
	v.AlteredMore = m.count("alteredMore")
	if m.optional("attempts") {
		v.Attempts = m.strs()
	}
	v.Branch, v.ChangeID, v.CommitID = m.optionalStr("branch"), m.optionalStr("changeId"), m.optionalStr("commitId")
	if m.optional("conflicted") {
		v.Conflicted = m.bool()
	}
	m.name("frame")
	v.Frame = m.int()
	if m.optional("leftOut") {
		v.LeftOut = elements(m, readLeftOut)
	}
	v.LeftOutMore = m.count("leftOutMore")
	if name != nil {
		m.name("name")
		*name = m.str()
	}
	v.Operation, v.Root, v.Scope = m.optionalStr("operationId"), m.optionalStr("root"), m.optionalStr("scope")
	v.Tree = m.optionalID("treeId")
	m.name("type")
	v.Type = m.str()
	if name == nil && m.optional("worktrees") {
		v.Worktrees = elements(m, readWorktree)
	}
	m.close()
	return v
}

func readAltered(m *metadata) (a Altered) {
	m.name("by")
	a.By = m.str()
	m.name("path")
	a.Path = m.path(m.str())
	m.close()
	return a
}

func readLeftOut(m *metadata) (l LeftOut) {
	l.Bytes = m.count("bytes")
	m.name("path")
	l.Path = m.path(m.str())
	m.name("reason")
	l.Reason = m.str()
	m.close()
	return l
}

func readWorktree(m *metadata) (w Worktree) {
	w.VCS = readVCS(m, &w.Name)
	return w
}
