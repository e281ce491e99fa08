package redact

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"slices"
)

const (
	// maxDepth is the largest number of base64 encodings inside each other that the search opens.
	maxDepth = 2
	// minEncoded and maxEncoded bound the length of a run of base64 that is decoded.
	minEncoded = 16
	maxEncoded = 64 << 10
	// maxUnzipped is the number of bytes of gzip streams that are searched, for all of a text together: a stranger's text may have many.
	maxUnzipped = 4 << 20
)

// encoded searches the runs of base64 in the text. A secret in the decoded text covers the groups of four characters that
// spell it.
func (h *hunt) encoded(depth int) {
	var letters []byte
	var at []int
	for i := 0; i < len(h.text); {
		if !isBase64(h.text[i]) {
			i++
			continue
		}
		letters, at, i = h.run(i, letters[:0], at[:0])
		if len(letters) < minEncoded || !worthDecoding(letters) {
			continue
		}
		for _, f := range h.scanner.search(decoded(letters), depth+1, h.inner) {
			start, end := f.Start/3*4, min(len(letters), (f.End+2)/3*4)
			h.found = append(h.found, Finding{f.Rule, at[start], at[end-1] + 1, f.Of})
		}
	}
}

// run appends to letters and at the base64 letters of the run that begins at text[i], and their offsets. It returns the
// offset after the run. Lines of equal length make one run, up to a shorter last line.
func (h *hunt) run(i int, letters []byte, at []int) ([]byte, []int, int) {
	width := 0
	for {
		start := i
		for i < len(h.text) && isBase64(h.text[i]) && len(letters) < maxEncoded {
			letters, at = append(letters, h.text[i]), append(at, i)
			i++
		}
		for i < len(h.text) && h.text[i] == '=' && i-start < maxWidth { // the padding belongs to the last group
			i++
		}
		length := i - start
		if width == 0 {
			width = length
		}
		next := i
		if next < len(h.text) && h.text[next] == '\r' {
			next++
		}
		if length < minWidth || length != width || next+1 >= len(h.text) || h.text[next] != '\n' || !isBase64(h.text[next+1]) || isNamed(firstPart(h.text[next+1:])) || len(letters) >= maxEncoded {
			return letters, at, i
		}
		i = next + 1
	}
}

// gzipStart is the start of a gzip stream.
var gzipStart = []byte{0x1f, 0x8b, 8}

// zipped searches the gzip streams in the text. A secret in one covers all of the stream. A stream that is cut is searched as far as it goes.
func (h *hunt) zipped(depth int) {
	for from := 0; h.inner.left > 0; {
		i := bytes.Index(h.text[from:], gzipStart)
		if i < 0 {
			return
		}
		start := from + i
		from = start + len(gzipStart)
		rest := bytes.NewReader(h.text[start:])
		reader, err := gzip.NewReader(rest)
		if err != nil {
			continue
		}
		reader.Multistream(false)
		text, _ := io.ReadAll(io.LimitReader(reader, int64(h.inner.left))) // what can be read of a damaged stream is enough
		h.inner.left -= len(text)
		if found := h.scanner.search(text, depth+1, h.inner); len(found) > 0 {
			from = len(h.text) - rest.Len()
			h.found = append(h.found, Finding{found[0].Rule, start, from, found[0].Of})
		}
	}
}

// isBase64 reports whether b is one of the letters of base64 or base64url.
func isBase64(b byte) bool { return isToken(b) || b == '+' || b == '/' }

// decoded returns the bytes that letters spell in base64 or base64url. letters has no padding. An incomplete group at the
// end is ignored.
func decoded(letters []byte) []byte {
	letters = slices.Clone(letters)
	for i, b := range letters {
		switch b {
		case '-':
			letters[i] = '+'
		case '_':
			letters[i] = '/'
		}
	}
	if len(letters)%4 == 1 {
		letters = letters[:len(letters)-1]
	}
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(letters)))
	n, _ := base64.RawStdEncoding.Decode(out, letters) // any letters decode
	return out[:n]
}

// worthDecoding reports whether the start of letters decodes to printable text, or to a gzip stream.
func worthDecoding(letters []byte) bool {
	const sample = 64
	start := decoded(letters[:min(len(letters), sample)])
	return printable(start) || bytes.HasPrefix(start, gzipStart)
}

// printable reports whether at least nineteen of twenty bytes of text are printable.
func printable(text []byte) bool {
	strange := 0
	for _, b := range text {
		if (b < ' ' || b > '~') && b != '\n' && b != '\r' && b != '\t' && b != '\x1b' {
			strange++
		}
	}
	return strange*20 <= len(text)
}
