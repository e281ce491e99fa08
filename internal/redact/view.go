package redact

// view is a part of a text as a person reads it: without colours, and with escapes replaced by their characters.
type view struct {
	text     []byte // the bytes of the view
	from, to []int  // by byte of the view, the range of the original text from which the byte was made
}

// decoding says what a view decodes beside colours and backslashes.
type decoding struct {
	percent bool // decode %41
	width   int  // if positive, leave out the line ends after lines of exactly this many bytes where the next line goes on; see goesOn
}

// span returns the range of the original text that makes v.text[start:end]. The range of the view must not be empty.
func (v *view) span(start, end int) (int, int) { return v.from[start], v.to[end-1] }

// indexOf returns the first byte of the view that was made from the byte at offset of the original text or from a later
// byte. It returns len(v.text) if there is none.
func (v *view) indexOf(offset int) int {
	low, high := 0, len(v.to)
	for low < high {
		if mid := (low + high) / 2; v.to[mid] > offset {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// look makes v the view of text[start:end]. column is the number of bytes between the start of the line and start. look
// reuses the memory of v.
func (v *view) look(text []byte, start, end, column int, d decoding) {
	v.text, v.from, v.to = v.text[:0], v.from[:0], v.to[:0]
	for at := start; at < end; {
		b, size, keep := decode(text[at:end], d)
		if b == '\n' && size == 1 {
			joined := d.width > 0 && column == d.width && goesOn(text, at)
			column = 0
			keep = keep && !joined
		} else {
			column += size
		}
		if keep {
			v.text, v.from, v.to = append(v.text, b), append(v.from, at), append(v.to, at+size)
		}
		at += size
	}
}

// decode returns the first byte of the view of text, and the number of bytes of text that it stands for. keep is false
// if these bytes are not in the view. text must not be empty.
func decode(text []byte, d decoding) (b byte, size int, keep bool) {
	switch b = text[0]; {
	case b == '\x1b':
		if n := colour(text[1:]); n > 0 {
			return 0, 1 + n, false
		}
	case b == '\r':
		return 0, 1, false
	case b == '\\':
		return unescape(text)
	case b == '%' && d.percent:
		if code, ok := hexNumber(text[1:], 2); ok {
			if code == '\\' && len(text) > 3 && text[3] == 'n' { // a line end in a string in a URL
				return '\n', 4, true
			}
			return byte(code), 3, true
		}
	}
	return b, 1, true
}

// unescape returns the character of the escape with which text begins. In JSON inside JSON, escapes have several
// backslashes. A backslash that begins no known escape stands for itself.
func unescape(text []byte) (b byte, size int, keep bool) {
	n := 1
	for n < len(text) && n < 8 && text[n] == '\\' {
		n++
	}
	if n == len(text) {
		return '\\', 1, true
	}
	switch c := text[n]; c {
	case 'n':
		return '\n', n + 1, true
	case 'r':
		return 0, n + 1, false
	case 't':
		return '\t', n + 1, true
	case '"', '\'', '/':
		return c, n + 1, true
	case 'u':
		if code, ok := hexNumber(text[n+1:], 4); ok && code < 0x80 {
			return escapedByte(byte(code), text, n+5)
		}
	case 'x':
		if code, ok := hexNumber(text[n+1:], 2); ok && code < 0x80 {
			return escapedByte(byte(code), text, n+3)
		}
	case '0':
		if len(text) > n+2 && text[n+1] == '3' && text[n+2] == '3' {
			return escapedByte('\x1b', text, n+3)
		}
	case 'e':
		return escapedByte('\x1b', text, n+1)
	}
	return '\\', 1, true
}

// escapedByte returns the view of a character that text spells with size bytes. If the character begins a colour, the
// colour is left out.
func escapedByte(b byte, text []byte, size int) (byte, int, bool) {
	if b == '\x1b' {
		if n := colour(text[size:]); n > 0 {
			return 0, size + n, false
		}
		if text[size-1] == 'e' {
			return '\\', 1, true // \e is no escape in JSON
		}
	}
	return b, size, b != '\r'
}

// colour returns the length of the rest of a control sequence after its ESC, or 0 if text does not begin with one: a
// bracket, parameters, and a final letter.
func colour(text []byte) int {
	const longest = 24
	if len(text) == 0 || text[0] != '[' {
		return 0
	}
	for i := 1; i < len(text) && i < longest; i++ {
		switch c := text[i]; {
		case c >= '0' && c <= '?':
		case c >= '@' && c <= '~':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// hexNumber returns the number that the first digits bytes of text spell in hex.
func hexNumber(text []byte, digits int) (n int, ok bool) {
	if len(text) < digits {
		return 0, false
	}
	for _, c := range text[:digits] {
		digit := hexDigit(c)
		if digit < 0 {
			return 0, false
		}
		n = n<<4 | digit
	}
	return n, true
}

// hexDigit returns the value of a hex digit, or -1.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
