package redact

// Fill returns the edits that would have made the JSON text out of one with secrets, for a text whose secrets were taken out
// elsewhere; see Restore. secret returns the secret for a placeholder, or nil. A placeholder without a secret stays. The
// edits also undo the escapes of signs.
//
// Fill cannot know how a secret was spelled: Restore gives it back as a part of a JSON string, also where it was a number.
func Fill(text []byte, secret func(Placeholder) []byte) []Edit {
	var edits []Edit
	for m := range marks(text, JSON) {
		if m.before > 0 {
			edits = append(edits, Edit{Offset: m.start - m.before, Text: string(text[m.start-m.before : m.start])})
			continue
		}
		if m.length != len(sign) {
			continue
		}
		p, end, ok := parse(text, m.start)
		if !ok {
			continue
		}
		if value := secret(p); value != nil {
			edits = append(edits, Edit{Offset: m.start, Text: string(text[m.start:end]), Was: []byte(jsonText(string(value), false)), Number: p.Number})
		}
	}
	return edits
}
