package redact

import "bytes"

// privateKey is the name of the rule for private keys. Its match is only the first line; see keyBlock.
const privateKey = "private-key"

// keyBlock returns the finding of a private key whose first line is the range start to end of the view. The key goes on
// to its last line, or as far as there are lines of base64, since tools cut long output.
func (h *hunt) keyBlock(start, end int, d decoding) (Finding, bool) {
	const (
		least   = 40       // letters of base64
		longest = 16 << 10 // bytes of the text
	)
	low, high := h.view.span(start, end)
	h.look(low, high, 0, longest, d)
	v := &h.view
	at, last, letters := end-start, end-start, 0
	for at < len(v.text) {
		line := v.text[at:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
		}
		text := bytes.TrimSpace(line)
		if bytes.HasPrefix(text, []byte("-----END ")) {
			if n := bytes.Index(text[9:], []byte("-----")); n >= 0 {
				last = at + bytes.Index(line, []byte("-----END ")) + 9 + n + 5
			}
			break
		}
		n := 0
		for n < len(text) && (isBase64(text[n]) || text[n] == '=') {
			n++
		}
		isHeader := bytes.Contains(text, []byte(": ")) && letters == 0
		if n < len(text) && !isHeader {
			if n >= least {
				letters += n
				last = at + bytes.Index(line, text) + n
			}
			break
		}
		if !isHeader {
			letters += n
		}
		if n > 0 || isHeader {
			last = at + len(line)
		}
		at += len(line) + 1
	}
	if letters < least {
		return Finding{}, false
	}
	_, high = v.span(0, last)
	return Finding{Rule: privateKey, Start: low, End: high}, true
}
