package vault

import (
	"bytes"
	"crypto/sha256"
	"sync"

	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Book has the secrets of one run. It is a snapshot.Redactor. It is safe for concurrent use.
type Book struct {
	vault     *Vault
	run, name string          // the run's id, and the name of its file
	ancestors func() []string // nil if the run is no fork
	caller    string          // the run that called it, or ""

	mu      sync.Mutex
	read    int64 // the number of bytes of the file that were read
	highest int   // the highest number of a placeholder that the run is known to have
	numbers map[string]redact.Placeholder
	places  map[placeKey][]redact.Edit
	above   []*Book // the ancestors' books; nil if they were not read since the last refresh
	dirty   bool    // the file has records that may not be on stable storage

	again again // finds the secrets again that the run and its family have had
}

// placeKey identifies a text at a place: the digest of the place and the text.
type placeKey [sha256.Size]byte

// keyOf returns the key of a text at a place of a run.
func keyOf(at snapshot.Place, text []byte) placeKey {
	h := sha256.New()
	for _, part := range []string{at.Collection, at.Key, at.Member} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(text)
	return placeKey(h.Sum(nil))
}

// RedactJSON returns a JSON text that is about to be stored at a place, with placeholders in place of its secrets. The result
// is valid JSON, too. Without anything to change, it returns text itself. What of text is stored text stays as it is, and gives back at
// this place what it gave back before. Code: secrets_found if the mode is Refuse and text has a secret.
func (b *Book) RedactJSON(at snapshot.Place, text []byte, stored func() ([]snapshot.Stored, error)) ([]byte, error) {
	return b.redact(at, redact.JSON, text, stored)
}

// RedactText is RedactJSON for a text that is no JSON.
func (b *Book) RedactText(at snapshot.Place, text string) (string, error) {
	out, err := b.redact(at, redact.Plain, []byte(text), nil)
	return string(out), err
}

// Highest returns the highest number of a placeholder that the run has, or 0.
func (b *Book) Highest() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.highest
}

// redact does the work of RedactJSON and RedactText for a text of the given form.
func (b *Book) redact(at snapshot.Place, form redact.Form, text []byte, stored func() ([]snapshot.Stored, error)) ([]byte, error) {
	var found []redact.Finding
	if b.vault.opts.Mode != Off {
		finder, err := b.finder()
		if err != nil {
			return nil, err
		}
		found = finder.Find(text)
	}
	if len(found) == 0 && !redact.HasSign(text) {
		return text, nil
	}
	var before []snapshot.Stored
	if stored != nil {
		var err error
		if before, err = stored(); err != nil {
			return nil, err
		}
	}
	found = outside(before, found)
	switch {
	case len(found) == 0 && !redact.HasSign(text):
		return text, nil
	case len(found) > 0 && b.vault.opts.Mode == Refuse:
		return nil, refused(at.String(), found[0].Rule)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []byte
	err := b.change(func(file *bookFile) error {
		kept, known := b.kept(text, before)
		var edits []redact.Edit
		out, edits = redact.RewriteAround(kept, text, form, found, func(rule string, secret []byte) redact.Placeholder {
			return b.number(file, rule, secret)
		})
		if len(edits) > 0 && known && at.Collection != "" {
			b.place(file, at, out, edits)
		}
		return nil
	})
	return out, err
}

// outside returns the parts of the findings that are in no stored text.
func outside(stored []snapshot.Stored, found []redact.Finding) []redact.Finding {
	for _, one := range stored {
		for _, k := range one.Kept {
			var left []redact.Finding
			for _, f := range found {
				before, after := f, f
				before.End, after.Start = min(f.End, k.Start), max(f.Start, k.End)
				for _, part := range []redact.Finding{before, after} {
					if part.Start < part.End {
						left = append(left, part)
					}
				}
			}
			found = left
		}
	}
	return found
}

// kept returns the ranges of a new text that are stored text, with the edits that made them. known is false if this clone lacks a
// secret of theirs. The run's next secret gets a higher number than theirs. The caller holds b.mu and the lock of the files.
func (b *Book) kept(text []byte, stored []snapshot.Stored) (ranges []redact.Kept, known bool) {
	known = true
	for _, before := range stored {
		edits, placed := b.placed(before.At, before.Text)
		if !placed {
			edits = redact.Fill(before.Text, func(redact.Placeholder) []byte { return nil }) // the escapes alone
		}
		for _, k := range before.Kept {
			out := redact.Kept{Start: k.Start, End: k.End}
			for _, e := range edits {
				if e.Offset >= k.Was && e.Offset < k.Was+k.End-k.Start {
					e.Offset += k.Start - k.Was
					out.Edits = append(out.Edits, e)
				}
			}
			ranges = append(ranges, out)
			for _, p := range redact.Placeholders(text[k.Start:k.End]) {
				b.highest = max(b.highest, p.Number)
				known = known && placed
			}
		}
	}
	return ranges, known
}

// number returns the placeholder for a secret. A new secret gets the next number and a record in file. The caller holds b.mu
// and the lock of the files.
func (b *Book) number(file *bookFile, rule string, secret []byte) redact.Placeholder {
	if p, ok := b.numbers[string(secret)]; ok {
		return p
	}
	for _, other := range b.inherited() {
		if p, ok := other.numbers[string(secret)]; ok && p.Number <= b.highest {
			b.numbers[string(secret)] = p
			return p
		}
	}
	b.highest++
	p := redact.Placeholder{Rule: rule, Number: b.highest}
	b.numbers[string(secret)] = p
	b.vault.found.Add(1)
	file.add(record{Secret: p.Number, Rule: rule, Value: bytes.Clone(secret)})
	return p
}

// place records the edits that made text from what a place should have had. The caller holds b.mu and the lock of the files.
func (b *Book) place(file *bookFile, at snapshot.Place, text []byte, edits []redact.Edit) {
	key := keyOf(at, text)
	if _, ok := b.places[key]; ok {
		return
	}
	b.places[key] = edits
	file.add(record{At: &at, Text: key[:], Edits: edits})
}

// placed returns the edits of a text at a place, of this run or of one from which it was forked. The caller holds b.mu.
func (b *Book) placed(at snapshot.Place, text []byte) ([]redact.Edit, bool) {
	key := keyOf(at, text)
	if edits, ok := b.places[key]; ok {
		return edits, true
	}
	for _, other := range b.inherited() {
		if edits, ok := other.places[key]; ok {
			return edits, true
		}
	}
	return nil, false
}

// Revealed is a text with the secrets that its placeholders stand for.
type Revealed struct {
	Text    []byte
	Missing []redact.Placeholder // those that this clone did not put there; their secrets are not in Text
}

// Look returns the text for which the run's history has text at a place: with the secrets that this clone has taken out
// there, and without escapes. It gives no secret to a text that the vault has not stored at this place.
func (b *Book) Look(at snapshot.Place, text []byte) (Revealed, error) {
	if !redact.HasSign(text) {
		return Revealed{Text: text}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refresh(); err != nil {
		return Revealed{}, err
	}
	if edits, ok := b.placed(at, text); ok {
		if whole, err := redact.Restore(text, edits); err == nil {
			return Revealed{Text: whole}, nil
		}
	}
	out := Revealed{Text: redact.Unescape(text, redact.JSON)}
	for _, p := range redact.Placeholders(text) {
		out.Missing = append(out.Missing, p.Placeholder)
	}
	return out, nil
}

// Reveal returns the text for which the run's history has text at a place, like Look. Code: secret_missing if this clone does not
// have a secret of the text.
func (b *Book) Reveal(at snapshot.Place, text []byte) ([]byte, error) {
	r, err := b.Look(at, text)
	if err != nil || len(r.Missing) == 0 {
		return r.Text, err
	}
	return nil, (&MissingError{at, bytes.Clone(text), r.Missing}).Explain(b.run)
}

// Mask returns text with placeholders in place of its secrets. It records no place, so Reveal does not give the secrets back.
// If the numbers cannot be recorded, it returns the error, and a text without secrets all the same.
func (b *Book) Mask(text []byte) ([]byte, error) {
	if b.vault.opts.Mode == Off {
		return text, nil
	}
	finder, _ := b.finder() // who stores the text gets the error
	return b.mask(text, finder.Find(text))
}

// Unrecorded is a book whose Mask writes nothing: its placeholders have no numbers.
type Unrecorded struct{ *Book }

// Mask returns text without its secrets.
func (b Unrecorded) Mask(text []byte) ([]byte, error) {
	if b.vault.opts.Mode == Off {
		return text, nil
	}
	finder, err := b.finder()
	out, _ := redact.Rewrite(text, redact.Plain, finder.Find(text), func(rule string, _ []byte) redact.Placeholder { return redact.Placeholder{Rule: rule} })
	return out, err
}

// mask is Mask for a text whose secrets are found.
func (b *Book) mask(text []byte, found []redact.Finding) ([]byte, error) {
	if len(found) == 0 && !redact.HasSign(text) {
		return text, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []byte
	err := b.change(func(file *bookFile) error {
		out, _ = redact.Rewrite(text, redact.Plain, found, func(rule string, secret []byte) redact.Placeholder { return b.number(file, rule, secret) })
		return nil
	})
	if out == nil { // the files cannot be locked
		out, _ = redact.Rewrite(text, redact.Plain, found, func(rule string, _ []byte) redact.Placeholder { return redact.Placeholder{Rule: rule} })
	}
	return out, err
}

// MaskStream returns a stream that passes text on to emit without its secrets, whatever the mode. It drops errors of the vault,
// because people only look at the text.
func (b *Book) MaskStream(emit func([]byte)) *redact.Stream {
	finder, _ := b.finder() // who stores the text gets the error
	return redact.NewStream(finder, func(text []byte, found []redact.Finding) {
		out, _ := b.mask(text, found)
		emit(out)
	})
}
