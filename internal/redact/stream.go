package redact

import "bytes"

const (
	// maxReach is how far a rule looks from its literal at most: the body of a private key.
	maxReach = 8 << 10
	// maxHeld is the number of bytes above which a Stream passes text on, even in the middle of a line.
	maxHeld = 2 * maxReach
	// context is the number of bytes before the text that a Stream has not passed on yet with which it is searched.
	context = 256
)

// wrapWidth is the least width at which programs wrap base64.
const wrapWidth = 60

// Stream finds secrets in a text that comes in pieces. It holds back what may be the beginning of a secret. It must be
// used by one goroutine at a time.
type Stream struct {
	finder *Finder
	emit   func(text []byte, found []Finding)
	text   []byte // the last bytes that were passed on, at most context, and then those that are held back
	passed int    // the number of bytes of text that were passed on
	tried  int    // the number of bytes of text that were searched
}

// NewStream returns a Stream that passes the text on to emit, in pieces, each with its secrets. The pieces and the findings
// are valid only during the call.
func NewStream(finder *Finder, emit func(text []byte, found []Finding)) *Stream {
	return &Stream{finder: finder, emit: emit}
}

// Write adds p to the text. It searches whenever a line is complete, and passes complete lines on that hold no beginning of a
// secret.
func (s *Stream) Write(p []byte) {
	s.text = append(s.text, p...)
	if bytes.IndexByte(p, '\n') < 0 && len(s.text)-s.tried < maxReach {
		return
	}
	limit := bytes.LastIndexByte(s.text, '\n') + 1
	if len(s.text)-s.passed > maxHeld {
		limit = max(limit, len(s.text)-maxReach)
	}
	s.pass(limit, holdAll)
}

// Pause passes on what holds no beginning of a secret, also from an incomplete line. It is called when no more text
// comes for a while. It holds back complete lines only for known values, base64 and private keys: a secret on the line after its
// name is not found if a pause parts them.
func (s *Stream) Pause() { s.pass(len(s.text), holdLine) }

// Close passes on all of the text.
func (s *Stream) Close() {
	s.pass(len(s.text), holdNothing)
	s.text = nil
}

// Drop forgets the text that is held back, because the receiver has got it in another way.
func (s *Stream) Drop() {
	drop := max(0, len(s.text)-context)
	s.text = append(s.text[:0], s.text[drop:]...)
	s.passed, s.tried = len(s.text), len(s.text)
}

// holding is how much of the text a Stream holds back because more text may come.
type holding int

const (
	holdNothing holding = iota
	holdLine            // what may be the beginning of a secret in the last line
	holdAll             // what may be the beginning of a secret
)

// pass passes on the text up to limit, but for what it holds back.
func (s *Stream) pass(limit int, how holding) {
	s.tried = len(s.text)
	if limit <= s.passed {
		return
	}
	found := s.finder.Find(s.text)
	if how != holdNothing {
		limit = s.hold(found, limit, how)
	}
	if limit <= s.passed {
		return
	}
	within := found[:0]
	for _, f := range found {
		if f.Start = max(f.Start, s.passed) - s.passed; f.End > s.passed && f.End <= limit {
			within = append(within, Finding{f.Rule, f.Start, f.End - s.passed, f.Of})
		}
	}
	s.emit(s.text[s.passed:limit], within)
	drop := max(0, limit-context)
	s.text = append(s.text[:0], s.text[drop:]...)
	s.passed = limit - drop
	s.tried = len(s.text)
}

// hold returns how much of the text up to limit can be passed on although more text may come. It cuts no finding. It keeps
// back the beginnings of known values and what follows a literal of a rule, unless it is more than a rule looks at.
func (s *Stream) hold(found []Finding, limit int, how holding) int {
	full := limit
	limit = min(limit, s.finder.known.open(s.text))
	for _, learned := range s.finder.learned {
		limit = min(limit, learned.open(s.text))
	}
	limit = min(limit, builtIn().open(s.text, found, how))
	if len(s.text)-s.passed > maxHeld {
		limit = max(limit, min(full, len(s.text)-maxReach))
	}
	for _, f := range found {
		if f.Start < limit && limit < f.End {
			limit = f.Start
		}
	}
	return limit
}

// open returns the offset in text from which more text could still change what Find finds. found has the findings in text. With
// holdLine, it looks at the last line only, but for private keys and base64.
func (s *Scanner) open(text []byte, found []Finding, how holding) int {
	limit, line := openRun(text, how), 0
	if i := bytes.LastIndex(text, gzipStart); i >= 0 && len(text)-i < maxReach {
		limit = min(limit, i)
	}
	if how == holdLine {
		line = bytes.LastIndexByte(text, '\n') + 1
	}
	next := 0
	s.literals.find(text, func(head int32, start, end int) {
		for next < len(found) && found[next].End <= start {
			next++
		}
		if next < len(found) && found[next].Start <= start && found[next].End+slack < len(text) {
			return // the secret is complete
		}
		for _, owner := range s.owners[head] {
			end, ok := owner.end(text, end)
			if !ok || start < line && (owner.rule == nameRule || s.rules[owner.rule].name != privateKey) {
				continue
			}
			if owner.rule != nameRule && !s.rules[owner.rule].mayMatch(text, start, end) {
				continue
			}
			ahead, back := window, 0
			if owner.rule != nameRule {
				ahead, back = s.rules[owner.rule].reach(), s.rules[owner.rule].back
			}
			if back > 0 {
				back += slack
			}
			if end+ahead > len(text) {
				limit = min(limit, max(0, start-back))
			}
		}
	})
	return limit
}

// reach is the number of bytes after its literal that the rule looks at.
func (r *rule) reach() int {
	switch {
	case r.name == privateKey:
		return maxReach
	case r.ahead > 0:
		return r.ahead
	}
	return window
}

// openRun returns the offset of the run of base64 with which text ends, with the lines of equal length before it, or
// len(text). A run of more than maxReach bytes is cut. With holdLine, a complete line that is shorter than programs wrap base64
// ends the run.
func openRun(text []byte, how holding) int {
	end := len(bytes.TrimRight(text, "\r\n"))
	if how == holdLine && end < len(text) && end-bytes.LastIndexByte(text[:end], '\n')-1 < wrapWidth {
		return len(text)
	}
	start := end
	for start > 0 && end-start < maxReach {
		b := text[start-1]
		if !isBase64(b) && b != '=' && (b != '\n' && b != '\r' || start < 2 || !isBase64(text[start-2]) && text[start-2] != '\r') {
			break
		}
		start--
	}
	if end-start < minEncoded {
		return len(text)
	}
	return start
}
