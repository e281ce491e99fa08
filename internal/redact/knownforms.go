package redact

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// MinKnown is the length in bytes below which a value is not looked for, because it would be found in ordinary text.
const MinKnown = 8

// maxWord is the length in bytes from which small letters alone are no word, but a secret.
const maxWord = 16

// Unmasked returns why the value of a variable is not to be looked for, or "" if it is. It does not look at the name,
// which the caller has found to be the name of a secret.
func Unmasked(value string) string {
	switch {
	case len(value) < MinKnown:
		return fmt.Sprintf(tooShort, MinKnown)
	case isPath(value):
		return "is a path"
	case isPlainURL(value):
		return "is a URL without a password"
	case isFingerprint().MatchString(value):
		return "is a fingerprint"
	case !varied([]byte(value), 3) || digits([]byte(value)) == len(value) && len(value) < 12:
		return tooPlain
	case isPlainWord().MatchString(value) && (isStandIn([]byte(value)) || len(value) < maxWord && strings.ToLower(value) == value):
		return tooCommon
	}
	return ""
}

// Why a value that may be a secret is not looked for.
const (
	tooShort  = "has fewer than %d bytes"
	tooPlain  = "is too plain"
	tooCommon = "is a common word"
)

// IsWeak reports whether Unmasked has a reason for value that does not exclude that value is a secret. A path, a URL, a
// fingerprint, a number and a switch such as true are none.
func IsWeak(value string) bool {
	switches := []string{"true", "false", "yes", "no", "on", "off", "none"}
	if digits([]byte(value)) == len(value) || slices.Contains(switches, strings.ToLower(value)) {
		return false
	}
	switch Unmasked(value) {
	case fmt.Sprintf(tooShort, MinKnown), tooPlain, tooCommon:
		return true
	}
	return false
}

var (
	pathForm      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:~|\.{1,2})?/[^\s=+]*$|^[A-Za-z]:\\`) })
	isFingerprint = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:0x)?[0-9A-F]{16}$|^[0-9A-F]{40}$|^(?:[0-9A-Fa-f]{2}:){15,31}[0-9A-Fa-f]{2}$|^SHA256:`)
	})
	isPlainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]+$`) })
)

// isPath reports whether value is the path of a file. Base64 may begin with a slash, too, but then it has long parts of
// mixed letters and digits.
func isPath(value string) bool {
	const least = 12
	if !pathForm().MatchString(value) {
		return false
	}
	for part := range strings.SplitSeq(value, "/") {
		if len(part) >= least && mixed([]byte(part)) {
			return false
		}
	}
	return true
}

// isPlainURL reports whether value is a URL that has no password, no key in the place of a user, and no query.
func isPlainURL(value string) bool {
	if !strings.Contains(value, "://") {
		return false
	}
	u, err := url.Parse(value)
	if err != nil || u.RawQuery != "" {
		return false
	}
	_, has := u.User.Password()
	return !has && !isRandom([]byte(u.User.Username()))
}

// formsOf returns the forms of a value: the value and its parts, each plain and as URLs, JSON, XML, shells, base64, base32, hex and
// UTF-16 spell it.
func formsOf(v Value) []knownForm {
	var out []knownForm
	least := MinKnown
	if v.Listed {
		least = min(MinKnown, max(len(v.Text), startSize))
	}
	add := func(text, of string, inBase64 bool) {
		if len(text) >= least {
			out = append(out, knownForm{v.Name, []byte(text), of, inBase64})
		}
	}
	for _, part := range partsOf(v) {
		if len(part) < least {
			continue
		}
		for _, text := range spellings(part) {
			add(text, part, false)
		}
		for _, text := range []string{part, wide(part, binary.LittleEndian)} {
			for _, text := range codedForms(text, base64.RawStdEncoding, base64.RawURLEncoding) {
				add(text, part, true)
			}
		}
		for _, text := range codedForms(part, base32Upper, base32Lower) {
			add(text, part, true)
		}
	}
	return out
}

// partsOf returns a value and those of its parts that are secrets on their own: the lines of a key, the members of a
// JSON object with secret names, the password of a URL.
func partsOf(v Value) []string {
	value := v.Text
	parts := []string{value}
	if trimmed := strings.TrimSpace(value); trimmed != value {
		parts = append(parts, trimmed)
	}
	var members map[string]any
	if json.Unmarshal([]byte(value), &members) == nil {
		for name, member := range members {
			if text, ok := member.(string); ok {
				if _, secret := secretName(name); secret {
					parts = append(parts, text)
				}
			}
		}
		return parts
	}
	if u, err := url.Parse(value); err == nil && u.User != nil {
		if password, has := u.User.Password(); has {
			parts = append(parts, password)
		}
		if isRandom([]byte(u.User.Username())) {
			parts = append(parts, u.User.Username())
		}
	}
	for pair := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ';' || r == ',' || r == '&' }) {
		if name, text, ok := strings.Cut(pair, "="); ok && SecretVariable(strings.TrimSpace(name)) && Unmasked(text) == "" {
			parts = append(parts, text)
		}
	}
	lines := strings.Split(value, "\n")
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if v.Found && (len(line) < wrapWidth || strings.TrimFunc(line, func(r rune) bool { return r < 0x80 && (isBase64(byte(r)) || r == '=') }) != "") {
			continue
		}
		if len(lines) > 1 && !strings.HasPrefix(line, "-----") && line != value {
			parts = append(parts, line)
		}
	}
	return parts
}

// spellings returns text and the ways in which programs spell it, without base64.
func spellings(text string) []string {
	quoted := jsonText(text, false)
	return []string{
		text, strings.ReplaceAll(text, "\n", "\r\n"),
		url.PathEscape(text), url.QueryEscape(text), strings.ReplaceAll(url.QueryEscape(text), "+", "%20"), percent(text, "%%%02X", 0), percent(text, "%%%02x", 0), percent(text, "%%%02x", utf8.RuneSelf),
		quoted, jsonText(text, true), jsonText(quoted, false), jsonText(jsonText(text, true), false), strings.ReplaceAll(quoted, "/", `\/`), asciiJSON(quoted),
		jsonText(asciiJSON(quoted), false),
		xml.Replace(text), strings.ReplaceAll(xml.Replace(text), "&#39;", "&apos;"), strings.ReplaceAll(xml.Replace(text), "&#34;", "&quot;"),
		strings.ReplaceAll(text, "'", `'\''`), ansiC.Replace(text),
		hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))),
		wide(text, binary.LittleEndian), wide(text, binary.BigEndian), jsonText(wide(text, binary.LittleEndian), false), jsonText(wide(text, binary.BigEndian), false),
	}
}

// wide returns text in UTF-16.
func wide(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

var (
	xml   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")
	ansiC = strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`)
)

// percent spells every byte of text that is no ASCII letter or digit with format, and leaves the bytes from plain on, if
// plain is not 0.
func percent(text, format string, plain byte) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || plain > 0 && c >= plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, format, c)
		}
	}
	return b.String()
}

// jsonText returns text as the inside of a JSON string. With html, it also escapes the characters that are special in
// HTML.
func jsonText(text string, html bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if err := e.Encode(text); err != nil {
		return text
	}
	quoted := strings.TrimSuffix(b.String(), "\n")
	return quoted[1 : len(quoted)-1]
}

// asciiJSON escapes the characters of quoted, the inside of a JSON string, that are not ASCII.
func asciiJSON(quoted string) string {
	var b strings.Builder
	for _, r := range quoted {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return b.String()
}

// The two spellings of base32.
var (
	base32Upper = base32.StdEncoding.WithPadding(base32.NoPadding)
	base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
)

// coding is an encoding whose letters each stand for a few bits.
type coding interface {
	EncodeToString(text []byte) string
	EncodedLen(n int) int
}

// codedForms returns the letters that spell text in the encodings at each of the places where text may begin in a group of
// theirs, without the letters that other bytes decide, too.
func codedForms(text string, encodings ...coding) []string {
	const bitsOfByte, whole = 8, 15 // whole is a number of bytes that fill groups of each encoding
	var out []string
	for _, encoding := range encodings {
		bits := bitsOfByte * whole / encoding.EncodedLen(whole) // of a letter
		group := map[int]int{5: 5, 6: 3}[bits]
		for offset := range group {
			padded := append(make([]byte, offset), text...)
			first := (offset*bitsOfByte + bits - 1) / bits
			last := len(padded) * bitsOfByte / bits
			out = append(out, encoding.EncodeToString(padded)[first:last])
		}
	}
	return out
}
