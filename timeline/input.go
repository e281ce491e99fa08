package timeline

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// member is a name and a value of a JSON object, with the bytes of the input.
type member struct{ name, value json.RawMessage }

// MergeInput returns the JSON object base, changed by the members of override. A member of override replaces
// base's member of the same name. If base has no such member, MergeInput appends the member. Values keep their
// bytes. A nil base is the empty object. Code: invalid_input if base or override is not a JSON object.
func MergeInput(base, override json.RawMessage) (json.RawMessage, error) {
	over, err := members(override)
	if err != nil {
		return nil, fault.New(fault.InvalidInput, "--input is not a JSON object: %w", err).
			Hint(`give an object, for example --input '{"ticket":"T-12"}'`)
	}
	var merged []member
	if base != nil {
		if merged, err = members(base); err != nil {
			return nil, fault.New(fault.InvalidInput, "the run's input is not a JSON object, so --input cannot be merged over it: %w", err)
		}
	}
	for _, m := range over {
		merged = set(merged, m)
	}
	out := []byte{'{'}
	for i, m := range merged {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, m.name...)
		out = append(out, ':')
		out = append(out, m.value...)
	}
	return append(out, '}'), nil
}

// WholeInput returns the input that a run's history has, with its secrets, changed by the members of override as MergeInput
// does. stored is nil if the run has no input, and a nil override changes nothing. Codes: secret_missing if this clone does
// not have a secret of a member that override leaves; invalid_input as for MergeInput.
func WholeInput(reveal snapshot.Reveal, stored, override json.RawMessage) (json.RawMessage, error) {
	base := stored
	if stored != nil {
		whole, err := reveal(snapshot.Place{Collection: snapshot.CollectionInput}, stored)
		if err != nil {
			rest, ok := unreplaced(stored, override)
			if !ok || fault.CodeOf(err) != fault.SecretMissing {
				return nil, err
			}
			whole = rest
		}
		base = whole
	}
	if override == nil {
		return base, nil
	}
	return MergeInput(base, override)
}

// AmendInput returns the change of the input of a state by the members of override, as MergeInput makes it. The other members stay as they
// are stored, with their placeholders.
func AmendInput(state *snapshot.State, override json.RawMessage) (snapshot.Change, error) {
	stored, err := state.Input()
	if err == nil {
		stored, err = MergeInput(stored, override)
	}
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: stored, Amends: true}, Explain(err)
}

// unreplaced returns the object stored without its escapes and with null for each member that override replaces. ok is false if
// the other members have placeholders.
func unreplaced(stored, override json.RawMessage) (rest json.RawMessage, ok bool) {
	list, err := members(stored)
	if err != nil || override == nil {
		return nil, false
	}
	over, err := members(override)
	if err != nil {
		return nil, false
	}
	out := []byte{'{'}
	for i, m := range list {
		if slices.ContainsFunc(over, func(o member) bool { return unquote(o.name) == unquote(m.name) }) {
			m.value = []byte("null")
		}
		if len(redact.Placeholders(m.name))+len(redact.Placeholders(m.value)) > 0 {
			return nil, false
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, redact.Unescape(m.name, redact.JSON)...), ':'), redact.Unescape(m.value, redact.JSON)...)
	}
	return append(out, '}'), true
}

// set puts the member m into list and returns the new list. If list has members with m's name, m replaces the first
// such member, and set removes the others. Otherwise set appends m. The result reuses the memory of list.
func set(list []member, m member) []member {
	name := unquote(m.name)
	out, placed := list[:0], false
	for _, have := range list {
		switch {
		case unquote(have.name) != name:
			out = append(out, have)
		case !placed:
			out, placed = append(out, m), true
		}
	}
	if !placed {
		out = append(out, m)
	}
	return out
}

// unquote returns the text of a JSON string, or the bytes of name if name is not a JSON string.
func unquote(name json.RawMessage) string {
	var s string
	if err := json.Unmarshal(name, &s); err != nil {
		return string(name)
	}
	return s
}

// errNotObject is the error of members for a JSON value that is not an object.
var errNotObject = errors.New("expected {")

// members splits a JSON object into its members, in their order, without decoding the values. It returns an
// error if object is not exactly one JSON object.
func members(object json.RawMessage) ([]member, error) {
	if err := json.Unmarshal(object, new(json.RawMessage)); err != nil {
		return nil, err
	}
	if !jsontext.IsObject(object) {
		return nil, errNotObject
	}
	var out []member
	for m := range jsontext.Spans(object) {
		out = append(out, member{object[m.Name:m.NameEnd], object[m.Start:m.End]})
	}
	return out, nil
}
