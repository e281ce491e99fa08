package jjbridge

import (
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/snapshot"
)

// MarshalJSON encodes c with the path escaped as in vcs.json.
func (c PathChange) MarshalJSON() ([]byte, error) {
	// a type without this method, so that Encode does not call it again
	type spelled PathChange
	c.Path = snapshot.EscapePath(c.Path)
	return jsontext.Encode(spelled(c))
}

// MarshalJSON encodes r with the path escaped as in vcs.json.
func (r Refusal) MarshalJSON() ([]byte, error) {
	// a type without this method, so that Encode does not call it again
	type spelled Refusal
	r.Path = snapshot.EscapePath(r.Path)
	return jsontext.Encode(spelled(r))
}
