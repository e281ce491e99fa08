package snapshot

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
)

// Redactor takes secrets out of texts from outside. The results depend on the texts alone, as long as the run is the same,
// so that an Append that is repeated writes the same objects.
type Redactor interface {
	// RedactJSON returns the JSON value text with a placeholder in place of each secret. The result is valid JSON. Without a
	// secret, the result may be text itself. RedactJSON does not modify text. stored returns the parts of text that were stored before, in order and
	// without overlaps; these parts stay unchanged. RedactJSON calls stored only if there is something to change. If stored is nil, all of text is
	// from outside.
	RedactJSON(at Place, text []byte, stored func() ([]Stored, error)) ([]byte, error)
	// RedactText is RedactJSON for a text from outside that is not JSON.
	RedactText(at Place, text string) (string, error)
	// Highest returns the highest number of a placeholder that the run has, or 0; see Run.Secrets.
	Highest() int
}

// Place says where a run's history has a text from outside. The zero Place is for texts that no command ever gets back.
type Place struct {
	Collection string `json:"collection"`       // "input", "outputs/TABLE", "signals", …
	Key        string `json:"key,omitempty"`    // the key of the row, "" for the input and for signals
	Member     string `json:"member,omitempty"` // the member of the row's value, "" for the whole value
}

// String returns the place in words.
func (p Place) String() string {
	switch {
	case p.Collection == "":
		return "a text"
	case p.Key == "" && p.Member == "":
		return p.Collection
	case p.Key == "":
		return fmt.Sprintf("%s in %s", p.Member, p.Collection)
	case p.Member == "":
		return fmt.Sprintf("row %q of %s", p.Key, p.Collection)
	}
	return fmt.Sprintf("%s in row %q of %s", p.Member, p.Key, p.Collection)
}

// Stored names the parts of a new text that repeat a stored text. These parts are not from outside, whatever they look like.
type Stored struct {
	Quote
	Kept []Kept // in order, without overlaps
}

// Quote is a text that is stored at a place.
type Quote struct {
	At   Place
	Text []byte
}

// Kept is a range of a new text that repeats the bytes of a stored text from the offset Was on.
type Kept struct{ Start, End, Was int }

// wholly returns the Stored of a text that is all a stored text.
func wholly(q Quote) []Stored { return []Stored{{q, []Kept{{0, len(q.Text), 0}}}} }

// Reveal returns the text for which a run's history has text at a place: with the secrets that were taken out there.
type Reveal func(at Place, text []byte) ([]byte, error)

// secrets takes secrets out of what an entry is about to store. The zero secrets takes out nothing.
type secrets struct {
	redactor Redactor
	// before returns the stored value of a row before the entry, or nil if there is no such row.
	before func(collection, key string) ([]byte, error)
	stored *marks // collects the secrets that are stored as they are; may be nil
}

// marks collects the marks of what an entry stores as it is. The zero marks, and a nil *marks, find nothing.
type marks struct {
	marker Marker
	found  []Mark
}

// look adds a mark for each secret in a text of a place.
func (m *marks) look(place string, text []byte) error {
	if m == nil || m.marker == nil {
		return nil
	}
	found, err := m.marker.Marks(place, text)
	m.found = append(m.found, found...)
	return err
}

// StoredChange returns a change that sets a row of a collection of ours as Append stores it with the redactor and the limits: without
// its secrets, and with the key that then follows from its value.
func StoredChange(r Redactor, limits Limits, c Change) (Change, error) {
	none := func(string, string) ([]byte, error) { return nil, nil }
	row, err := intake{registered, limits, secrets{r, none, nil}}.row(c)
	c.Key, c.Value = row.Key, row.Value
	return c, err
}

// text returns a text that no command gets back, without its secrets.
func (s secrets) text(text string) (string, error) {
	if s.redactor == nil || text == "" {
		return text, s.stored.look("texts", []byte(text))
	}
	return s.redactor.RedactText(Place{}, text)
}

// json returns a JSON value that no command gets back, without its secrets.
func (s secrets) json(text []byte) ([]byte, error) {
	if s.redactor == nil || len(text) == 0 {
		return text, s.stored.look("texts", text)
	}
	return s.redactor.RedactJSON(Place{}, text, nil)
}

// value returns a row of a collection without its secrets. The whole value comes from outside, except the parts that c names as stored.
func (s secrets) value(collection string, row page.Row, c Change) (page.Row, error) {
	if s.redactor == nil {
		if c.Redacted {
			return row, nil
		}
		text, err := s.unseen(collection, row, c.Seen)
		if err != nil {
			return row, err
		}
		return row, s.stored.look(strings.TrimSpace(collection+" "+row.Key), text)
	}
	var err error
	at := Place{Collection: collection, Key: row.Key}
	row.Value, err = s.redactor.RedactJSON(at, row.Value, func() ([]Stored, error) {
		switch {
		case c.Redacted:
			return wholly(Quote{at, row.Value}), nil
		case !c.Amends && c.Kept == nil:
			return quoted(c.Quotes, row.Value), nil
		}
		before, err := s.before(collection, row.Key)
		if c.Kept != nil {
			return []Stored{{Quote{at, before}, c.Kept}}, err
		}
		return keptMembers(Quote{at, before}, row.Value), err
	})
	return row, err
}

// quoted returns the parts of value, the new value of a row, that repeat a text of quotes: the whole value, or members with the same name.
func quoted(quotes []Quote, value []byte) (stored []Stored) {
	for _, q := range quotes {
		if bytes.Equal(q.Text, value) {
			return wholly(q)
		}
	}
	for m := range jsontext.Spans(value) {
		for _, q := range quotes {
			if q.At.Member == m.Spelled(value) && bytes.Equal(q.Text, value[m.Start:m.End]) {
				stored = append(stored, Stored{q, []Kept{{m.Start, m.End, 0}}})
			}
		}
	}
	return stored
}

// keptMembers returns the parts of now, the new value of a row, that repeat the text of before: the whole value, or the equal members.
func keptMembers(before Quote, now []byte) []Stored {
	if bytes.Equal(before.Text, now) {
		return wholly(before)
	}
	type member struct{ name, value string }
	had := make(map[member]jsontext.Span)
	for m := range jsontext.Spans(before.Text) {
		had[member{m.Spelled(before.Text), string(before.Text[m.Start:m.End])}] = m
	}
	stored := Stored{Quote: before}
	for m := range jsontext.Spans(now) {
		if was, ok := had[member{m.Spelled(now), string(now[m.Start:m.End])}]; ok {
			stored.Kept = append(stored.Kept, Kept{m.Name + 1, m.NameEnd - 1, was.Name + 1}, Kept{m.Start, m.End, was.Start})
		}
	}
	return []Stored{stored}
}

// largeSeen is the size from which a value is not searched again from its beginning. seenAgain is the number of bytes before the first
// change that are searched again, because a secret can begin there.
const (
	largeSeen = 64 << 10
	seenAgain = 16 << 10
)

// unseen returns the part of a row's value that may have a secret which the earlier value did not have. Otherwise a growing list would be
// searched from its beginning each time. same is the number of bytes at the beginning that the caller knows to be the same.
func (s secrets) unseen(collection string, row page.Row, same int) ([]byte, error) {
	if len(row.Value) < largeSeen || s.stored == nil || s.stored.marker == nil {
		return row.Value, nil
	}
	if same > 0 {
		return row.Value[max(0, min(same, len(row.Value))-seenAgain):], nil
	}
	had, err := s.before(collection, row.Key)
	if err != nil {
		return nil, err
	}
	for same < min(len(had), len(row.Value)) && had[same] == row.Value[same] {
		same++
	}
	return row.Value[max(0, same-seenAgain):], nil
}

// members returns a stored row of a collection whose free members come from outside, without the secrets in them. redacted is
// Change.Redacted.
func (s secrets) members(of *collection, row page.Row, redacted bool) (page.Row, error) {
	if len(of.free) == 0 || redacted && s.redactor == nil {
		return row, nil
	}
	if s.redactor == nil {
		return row, s.stored.look(of.name+" "+row.Key, row.Value)
	}
	if of.rekey == nil || redacted {
		return s.membersAt(of, row, row.Key, redacted)
	}
	// The key follows from the value, so the texts have no known place before they are without secrets.
	clean, err := s.membersAt(of, row, "", false)
	if err != nil || bytes.Equal(clean.Value, row.Value) {
		return row, err
	}
	if clean, err = of.rekey(clean); err != nil {
		return row, err
	}
	_, err = s.membersAt(of, row, clean.Key, false)
	return clean, err
}

// membersAt returns the row without the secrets in its free members. key is the key of the row as it will be stored, or "" if
// it is not known yet. The texts then have no place. A change of one member repeats the other members as they are stored, and these stay.
func (s secrets) membersAt(of *collection, row page.Row, key string, redacted bool) (page.Row, error) {
	var had map[string][]byte
	var out []byte
	from := 0
	for m := range jsontext.Spans(row.Value) {
		name := m.Spelled(row.Value)
		if !of.isFree(name) {
			continue
		}
		var at Place
		if key != "" {
			at = Place{of.name, key, name}
		}
		text := row.Value[m.Start:m.End]
		clean, err := s.redactor.RedactJSON(at, text, func() (stored []Stored, err error) {
			if had == nil && !redacted {
				had, err = s.memberValues(of.name, row.Key)
			}
			if redacted || bytes.Equal(had[name], text) {
				stored = wholly(Quote{at, text})
			}
			return stored, err
		})
		if err != nil {
			return row, err
		}
		if bytes.Equal(clean, text) {
			continue
		}
		out = append(append(out, row.Value[from:m.Start]...), clean...)
		from = m.End
	}
	if from > 0 {
		row.Value = append(out, row.Value[from:]...)
	}
	return row, nil
}

// memberValues returns the members of a stored row by name. The result is not nil.
func (s secrets) memberValues(collection, key string) (map[string][]byte, error) {
	values := make(map[string][]byte)
	value, err := s.before(collection, key)
	for m := range jsontext.Spans(value) {
		values[m.Spelled(value)] = value[m.Start:m.End]
	}
	return values, err
}
