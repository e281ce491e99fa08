package jjbridge

import (
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/snapshot"
)

// MarshalJSON spells the path as vcs.json does.
func (c PathChange) MarshalJSON() ([]byte, error) {
	type spelled PathChange
	c.Path = snapshot.EscapePath(c.Path)
	return jsontext.Encode(spelled(c))
}

// MarshalJSON spells the path as vcs.json does.
func (r Refusal) MarshalJSON() ([]byte, error) {
	type spelled Refusal
	r.Path = snapshot.EscapePath(r.Path)
	return jsontext.Encode(spelled(r))
}
