package redact

import (
	"bytes"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// assigned is the name of the rule for values of secret names.
const assigned = "secret-name"

// nameWords are the literals of the rule of names: each secret name has one of them.
var nameWords = []string{"token", "secret", "passw", "passphrase", "pwd", "key", "seed", "credential", "jwt", "_pat", "_pass"}

// certain are the last words of names whose value is a secret. qualified are those that need one of qualifiers before them.
var (
	certain    = []string{"token", "secret", "password", "passwd", "passphrase", "pwd", "pass", "seed", "credential", "credentials", "pat", "jwt", "apikey", "authtoken", "accesskey", "secretkey"}
	passwords  = []string{"password", "passwd", "passphrase", "pwd", "pass"}
	qualifiers = []string{
		"api", "access", "secret", "private", "storage", "account", "app", "application", "license", "encryption", "encrypt",
		"signing", "sign", "master", "auth", "session", "jwt", "service", "client", "webhook", "deploy", "admin", "role",
		"shared", "preshared", "x", "openai", "anthropic", "live", "cognitive", "hmac", "root", "data",
	}
	// harmless are words that make a name harmless.
	harmless = []string{
		"public", "publishable", "partition", "cache", "idempotency", "sort", "foreign", "primary", "page", "next", "continuation",
		"sync", "cursor", "csrf", "count", "max", "input", "output", "prompt", "special", "pad", "eos", "bos", "unk", "mask", "arn",
		"keyboard", "shortcut", "cancellation", "random", "hash", "host", "call",
	}
)

// operators match what stands between a name and its value, at its start. Pairs of a name and a "value" come first, because their comma
// alone stands between names and values elsewhere, and so do a name and its type, because of their colon.
var operators = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:["']?,?[ \t]{0,8}\n[ \t]{0,40}(?:- )?["']?[vV]alue["']?[ \t]{0,8}[:=][ \t]{0,8}|["'][ \t]{1,8}value=|["'],[ \t]{0,8}["']?[vV]alue["']?[ \t]{0,4}:[ \t]{0,8}|:?[ \t]{1,8}(?:[sS]tring|&?str)[ \t]{0,8}=[ \t]{0,8}` +
		"|[\"'`\\])]{0,2}[ \\t]{0,40}(?:=>|:{1,3}=|[.?+]=|={1,3}|:|\\|)[ \\t]{0,40}(?:\\n[ \\t]{0,40}|[>|][+-]?[ \\t]{0,8}\\n[ \\t]{1,40})?" +
		`|["'][ \t]{0,8},[ \t]{0,8}|>[ \t]{0,8}(?:\n[ \t]{0,40})?)`)
})

// wrappers match what stands before a value with its quote where a program shows the value's type.
var wrappers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:Some\((?:[A-Z][A-Za-z]{0,20}\()?|[sS]tring\([0-9]{1,4}\) |[bu])["']`)
})

// name tries the rule of names around the word text[start:end] of a name.
func (h *hunt) name(start, end int) {
	if !h.mayName(start, end) {
		return
	}
	if width, sure := lineWidth(h.text, start); sure {
		plain, ok := h.assigned(start, end, decoding{})
		if !ok || h.endsLine(plain.End) {
			if joined, wide := h.assigned(start, end, decoding{width: width}); wide && (!ok || joined.End > plain.End) {
				plain, ok = joined, true
			}
		}
		if ok {
			h.found = append(h.found, plain)
			return
		}
	} else if plain, ok := h.assigned(start, end, decoding{}); ok {
		h.found = append(h.found, plain)
		return
	}
	if end < len(h.text) && h.text[end] == '%' || hasPercent(h.text[end:min(len(h.text), end+24)]) {
		if f, ok := h.assigned(start, end, decoding{percent: true}); ok {
			h.found = append(h.found, f)
		}
	}
}

// mayName reports whether the word text[start:end] may belong to the name of a secret. It is a quick look at the text as
// it is, because words of names are frequent. Where an escape or a colour stands before the name, it cannot tell.
func (h *hunt) mayName(start, end int) bool {
	from, to := start, end
	for from > 0 && start-from < slack && isName(h.text[from-1]) {
		from--
	}
	for to < len(h.text) && to-end < slack && isName(h.text[to]) {
		to++
	}
	if from > 0 && h.text[from-1] == ':' && to < len(h.text) && h.text[to] == ':' {
		return false // a part of a name with colons, such as an ARN
	}
	if from > 0 {
		switch h.text[from-1] {
		case '\\', '[', '%', ';', '\n', '\r':
			return true
		}
	}
	_, ok := secretName(strings.Trim(string(h.text[from:to]), "-."))
	return ok
}

// assigned returns the value that the text assigns to the name that has the word text[start:end].
func (h *hunt) assigned(start, end int, d decoding) (Finding, bool) {
	const brief = 64 // enough for the rest of the name and an operator
	from, to := h.look(start, end, slack, brief, d)
	v := &h.view
	if from >= len(v.text) {
		return Finding{}, false
	}
	for from > 0 && isName(v.text[from-1]) {
		from--
	}
	for to < len(v.text) && isName(v.text[to]) {
		to++
	}
	name := string(v.text[from:to])
	password, ok := secretName(strings.Trim(name, "-."))
	if !ok {
		return Finding{}, false
	}
	if skip := v.operator(from, to); skip == 0 {
		return h.named(start, end, d)
	}
	before := to - from
	first, _ := h.look(start, end, slack, window, d)
	for first > 0 && isName(v.text[first-1]) {
		first--
	}
	low, high, quoted, ok := v.value(first, first+before)
	if !ok {
		return Finding{}, false
	}
	value := v.text[low:high]
	isCall := !quoted && high < len(v.text) && v.text[high] == '('
	if isCall || isStandIn(value) || !quoted && isCode(value) {
		return Finding{}, false
	}
	if password && (!isWeakPassword(value) || isPassphrase(value) && v.mayPhrase(first, first+before, high)) || !password && isRandom(value) && !isContract(name, value) {
		a, b := v.span(low, high)
		return Finding{Rule: assigned, Start: a, End: b}, true
	}
	return Finding{}, false
}

// mayPhrase reports whether words may be the password of the name v.text[from:to], whose value ends at end: the name has capitals alone, or stands
// in a line of properties or YAML that has nothing else. In other places, such words are more often a name.
func (v *view) mayPhrase(from, to, end int) bool {
	name := v.text[from:to]
	if isCapital(name) {
		return !bytes.HasSuffix(name, []byte("PASS")) // the result of a test
	}
	start := len(bytes.TrimRight(v.text[:from], " \t"))
	if start > 0 && v.text[start-1] != '\n' || !bytes.HasSuffix(name, []byte("password")) || v.text[to] != '=' && v.text[to] != ':' {
		return false
	}
	for end < len(v.text) && bytes.IndexByte([]byte("\"' \t"), v.text[end]) >= 0 {
		end++
	}
	return end == len(v.text) || v.text[end] == '\n'
}

// named returns the value that stands in a sentence before the name that has the word text[start:end].
func (h *hunt) named(start, end int, d decoding) (Finding, bool) {
	const least, most = 12, 500
	line := h.text[max(0, start-slack):start]
	if !bytes.Contains(line, []byte(" for ")) && !bytes.Contains(line, []byte(" as ")) && d == (decoding{}) {
		return Finding{}, false
	}
	from, _ := h.look(start, end, most, 0, d)
	v := &h.view
	for from > 0 && isName(v.text[from-1]) {
		from--
	}
	words := bytes.TrimRight(v.text[:from], "\"'`$")
	words, ok := bytes.CutSuffix(words, []byte(" for "))
	if !ok {
		words, ok = bytes.CutSuffix(words, []byte(" as "))
	}
	at := bytes.LastIndexAny(words, " \t\n") + 1
	value := words[at:]
	if !ok || len(value) < least || isStandIn(value) || isCode(value) || !varied(value, 8) || isWeakPassword(value) {
		return Finding{}, false
	}
	low, high := v.span(at, len(words))
	return Finding{Rule: assigned, Start: low, End: high}, true
}

// operator returns the length of what stands between the name v.text[from:to] and its value, or 0 if no value follows.
func (v *view) operator(from, to int) int {
	rest := v.text[to:]
	if at := operators().FindIndex(rest); at != nil {
		if value := rest[at[1]:]; len(value) > 0 && bytes.IndexByte([]byte("Ssbu"), value[0]) >= 0 {
			return at[1] + max(1, len(wrappers().Find(value))) - 1
		}
		return at[1]
	}
	if bytes.HasPrefix(v.text[from:], []byte("--")) && len(rest) > 0 && rest[0] == ' ' {
		return 1
	}
	return 0
}

// value returns the range of the value that the view assigns to the name v.text[from:to], without quotes.
func (v *view) value(from, to int) (low, high int, quoted, ok bool) {
	skip := v.operator(from, to)
	if skip == 0 {
		return 0, 0, false, false
	}
	low = to + skip
	if low < len(v.text) && bytes.IndexByte([]byte("\"'`"), v.text[low]) >= 0 {
		quote := v.text[low]
		low++
		high = low
		for high < len(v.text) && v.text[high] != quote && v.text[high] != '\n' && v.text[high] != ' ' {
			high++
		}
		return low, high, true, high > low
	}
	high = low
	for high < len(v.text) && (bytes.IndexByte(valueEnds, v.text[high]) < 0 || v.text[high] == '&' && v.runsOn(from, to, high)) {
		high++
	}
	if from > 0 && v.text[from-1] == '/' && v.text[to] == ':' { // a user of a URL, such as x-access-token
		if at := bytes.IndexByte(v.text[low:high], '@'); at > 0 {
			high = low + at
		}
	}
	return low, high, false, high > low
}

// valueEnds are the bytes that end a value without quotes.
var valueEnds = []byte(" \t\n\"'`,;<>|{}[]()&\\")

// runsOn reports whether the '&' at v.text[at] belongs to the value of the name v.text[from:to], as in a line of a .env file. In a URL or a
// form, the name follows another one, or another one follows the '&'. In HTML, the '&' may begin a character, and in a shell, end a command.
func (v *view) runsOn(from, to, at int) bool {
	const entity = 6                                                    // letters of &quot;
	if v.text[to] != '=' || v.to[to]-v.from[to] > v.to[at]-v.from[at] { // an '&' that is not encoded, as the '=' is, separates what is
		return false
	}
	isVariable := isCapital(v.text[from:to])
	if from > 0 && bytes.IndexByte([]byte("\n\"'`"), v.text[from-1]) < 0 && (!isVariable || v.text[from-1] != ' ' && v.text[from-1] != '\t') {
		return false
	}
	rest, n := v.text[at+1:], 0
	for n < len(rest) && (isName(rest[n]) || rest[n] == '#' || rest[n] == '[' || rest[n] == ']') {
		n++
	}
	switch {
	case len(rest) == 0 || bytes.IndexByte(valueEnds, rest[0]) >= 0:
		return false
	case n == 0 || n == len(rest):
		return true
	}
	return (rest[n] != '=' || isVariable && !isCapital(rest[:n])) && (rest[n] != ';' || n > entity)
}

// isCapital reports whether text has no small letters.
func isCapital(text []byte) bool { return bytes.IndexFunc(text, unicode.IsLower) < 0 }

// isContract reports whether a value is the public address of a contract of Ethereum, such as that of a token.
func isContract(name string, value []byte) bool {
	const size = len("0x") + 40
	parts := nameParts(name)
	if len(value) != size || !strings.HasSuffix(parts[len(parts)-1], "token") && !slices.Contains(parts, "contract") {
		return false
	}
	_, err := hex.DecodeString(string(value[2:]))
	return err == nil && value[0] == '0' && value[1] == 'x'
}

// isName reports whether b may be in the name of a variable, a member, a flag or a header.
func isName(b byte) bool { return isToken(b) || b == '.' || b == '$' }

// secretName reports whether the value of a variable with the given name is a secret, and whether it is a password, which
// a person may have chosen.
func secretName(name string) (password, ok bool) {
	parts := nameParts(name)
	if len(parts) == 0 || len(parts) > 12 {
		return false, false
	}
	for _, part := range parts {
		if slices.Contains(harmless, part) {
			return false, false
		}
	}
	if name == "PWD" || name == "OLDPWD" {
		return false, false // the folder of a shell
	}
	last := parts[len(parts)-1]
	if len(parts) > 1 && (last == "base" || last == "value" || last == "string") {
		last = parts[len(parts)-2]
	}
	for _, word := range passwords {
		if last == word || word != "pass" && strings.HasSuffix(last, word) {
			return true, true
		}
	}
	if slices.Contains(certain, last) {
		return last == "secret" && len(parts) == 1, true
	}
	if last == "key" {
		for _, part := range parts[:len(parts)-1] {
			if slices.Contains(qualifiers, part) {
				return false, true
			}
		}
		return false, name == strings.ToUpper(name) && len(parts) > 1
	}
	return false, strings.HasSuffix(last, "token") && len(parts) == 1 || strings.HasSuffix(last, "apikey") || strings.HasSuffix(last, "secretkey") || last == "accountkey" || last == "storagekey"
}

// nameParts returns the words of a name in lower case: those between '_', '-', '.' and those that begin with a capital.
func nameParts(name string) []string {
	var parts []string
	start := 0
	cut := func(end int) {
		if end > start {
			parts = append(parts, strings.ToLower(strings.TrimRight(name[start:end], "0123456789")))
		}
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_' || c == '-' || c == '.' || c == '$':
			cut(i)
			start = i + 1
		case i > start && c >= 'A' && c <= 'Z' && (name[i-1] >= 'a' && name[i-1] <= 'z' || i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z' && name[i-1] >= 'A' && name[i-1] <= 'Z'):
			cut(i)
			start = i
		}
	}
	cut(len(name))
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}

// variableWords are parts of the names of variables of the environment that hold secrets.
var variableWords = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "KEY"}

// customWords are words in the names of variables that hold secrets by custom, otherUses words that tell another use of them.
var (
	customWords = []string{"PASS", "PWD", "PAT", "AUTH", "AUTHORIZATION", "SESSION", "COOKIE", "COOKIES", "JWT", "DSN", "HEADERS", "CONNECTIONSTRING", "CONNECTIONSTRINGS"}
	otherUses   = []string{
		"ID", "TYPE", "CLASS", "NAME", "VERSION", "ADDRESS", "MANAGER", "SOCK", "FILE", "PATH", "DIR", "HOST", "PORT", "MODE", "METHOD", "TTL", "TIMEOUT",
		"XDG", "DESKTOP", "DBUS", "GNOME", "KDE", "TERM", "ITERM", "WT", "COMPASS", "BYPASS", "ASKPASS", "OLDPWD",
	}
)

// SecretVariable reports whether an environment variable with the given name may hold a secret. Unmasked reports whether
// the variable's value can be searched for.
func SecretVariable(name string) bool {
	name = strings.ToUpper(name)
	if strings.Contains(name, "KEYBOARD") || strings.Contains(name, "TOKENIZER") {
		return false
	}
	if slices.ContainsFunc(variableWords, func(word string) bool { return strings.Contains(name, word) }) {
		return true
	}
	words := strings.FieldsFunc(strings.ReplaceAll(name, "CONNECTION_STRING", "CONNECTIONSTRING"), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	return name != "PWD" && !slices.ContainsFunc(words, func(word string) bool { return slices.Contains(otherUses, word) }) &&
		slices.ContainsFunc(words, func(word string) bool {
			return slices.Contains(customWords, word) || strings.HasSuffix(word, "PASS") || strings.HasSuffix(word, "PWD")
		})
}
