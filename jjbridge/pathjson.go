package jjbridge

import (
	"bytes"
	"encoding/json"

	"github.com/git-smithers/git-smithers/snapshot"
)

// MarshalJSON spells the path as vcs.json does.
func (c PathChange) MarshalJSON() ([]byte, error) {
	type spelled PathChange
	c.Path = snapshot.EscapePath(c.Path)
	return marshal(spelled(c))
}

// MarshalJSON spells the path as vcs.json does.
func (r Refusal) MarshalJSON() ([]byte, error) {
	type spelled Refusal
	r.Path = snapshot.EscapePath(r.Path)
	return marshal(spelled(r))
}

// marshal is json.Marshal without escapes for <, > and &.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return out.Bytes(), err
}
