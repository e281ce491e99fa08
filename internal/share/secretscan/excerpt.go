package secretscan

import (
	"bytes"
	"strings"

	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	// shownBeside is the number of bytes that an excerpt shows on each side of a secret.
	shownBeside = 32
	// shownOf is the number of bytes that an excerpt shows of a secret.
	shownOf = 2
)

// excerpt returns the text around the secret found[i], on its line. It masks each secret but for its first bytes. The text
// is valid UTF-8 and may have control characters.
func excerpt(data []byte, found []redact.Finding, i int) string {
	at := found[i]
	start, end := max(0, at.Start-shownBeside), min(len(data), at.End+shownBeside)
	if line := bytes.LastIndexByte(data[start:at.Start], '\n'); line >= 0 {
		start += line + 1
	}
	if line := bytes.IndexByte(data[at.End:end], '\n'); line >= 0 {
		end = at.End + line
	}
	return mask(data, found, start, end, at)
}

// mask returns data[start:end] with each secret in found masked, but for the first bytes of the secret at.
func mask(data []byte, found []redact.Finding, start, end int, at redact.Finding) string {
	var out strings.Builder
	from := start
	for _, f := range found {
		low, high := max(f.Start, start), min(f.End, end)
		if low >= high {
			continue
		}
		out.Write(data[from:low])
		if f == at {
			out.Write(data[low:min(low+shownOf, high)])
		}
		out.WriteString(timeline.Masked)
		from = high
	}
	out.Write(data[min(from, end):end])
	return strings.ToValidUTF8(out.String(), "\ufffd")
}
