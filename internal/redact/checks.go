package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// variedEnd reports whether a token is not one of documentation, a row of the same letter. The checksum with which tokens of
// GitHub and npm end is not looked at, because people test with invented tokens, and these are taken out as well.
func variedEnd(secret []byte) bool {
	const end, least = 30, 8
	return varied(secret[max(0, len(secret)-end):], least)
}

// notExample reports whether a secret is not made up for documentation: EXAMPLE, abc123, or rows of X and 0.
func notExample(secret []byte) bool {
	upper := bytes.ToUpper(secret)
	return !bytes.Contains(upper, []byte("EXAMPLE")) && !bytes.Contains(upper, []byte("XXXXX")) &&
		!bytes.Contains(upper, []byte("YOUR-")) && !bytes.Contains(upper, []byte("ABC123")) && varied(secret, 8)
}

// slackToken reports whether a token of Slack is whole and drawn: its last part is not empty, and it has digits behind its kind.
func slackToken(secret []byte) bool {
	const fewest = 4
	return !bytes.HasSuffix(secret, []byte("-")) && digits(secret) >= fewest && notExample(secret)
}

// varied reports whether text has at least least different bytes.
func varied(text []byte, least int) bool {
	var seen [256]bool
	count := 0
	for _, b := range text {
		if !seen[b] {
			seen[b] = true
			count++
		}
	}
	return count >= least
}

// mixed reports whether text has a digit, a lower-case and an upper-case letter.
func mixed(text []byte) bool {
	var digit, lower, upper bool
	for _, b := range text {
		digit = digit || b >= '0' && b <= '9'
		lower = lower || b >= 'a' && b <= 'z'
		upper = upper || b >= 'A' && b <= 'Z'
	}
	return digit && lower && upper
}

// secretJWT reports whether the first two parts of a JSON web token are JSON, and the token is not one that Supabase
// means to be public.
func secretJWT(token []byte) bool {
	parts := bytes.Split(token, []byte("."))
	var header, claims map[string]any
	for i, into := range []*map[string]any{&header, &claims} {
		text, err := base64.RawURLEncoding.DecodeString(string(parts[i]))
		if err != nil || json.Unmarshal(text, into) != nil {
			return false
		}
	}
	return header["alg"] != nil && claims["role"] != "anon"
}

// isPassword reports whether a text at the place of a password is one: not a variable, not a word of documentation.
func isPassword(secret []byte) bool { return !isStandIn(secret) && varied(secret, 4) }

// isStrong reports whether a text that may be a password is one, where words are more frequent.
func isStrong(secret []byte) bool { return isPassword(secret) && !isWeakPassword(secret) }

// isUserPassword reports whether secret is a user and a password in base64.
func isUserPassword(secret []byte) bool {
	text, err := base64.StdEncoding.DecodeString(string(secret))
	if err != nil {
		text, err = base64.RawStdEncoding.DecodeString(string(bytes.TrimRight(secret, "=")))
	}
	colon := bytes.IndexByte(text, ':')
	return err == nil && colon > 0 && colon < len(text)-1 && printable(text)
}

// isSASL reports whether secret is, in base64, what RFC 4616 sends: an identity, which may be empty, a user and a password, with a NUL between
// them.
func isSASL(secret []byte) bool {
	const parts = 3
	text, err := base64.StdEncoding.DecodeString(string(secret))
	fields := bytes.Split(text, []byte{0})
	return err == nil && len(fields) == parts && len(fields[1]) > 0 && isPassword(fields[2]) && printable(bytes.Join(fields, nil))
}

// isScrambled reports whether nobody can pronounce a text of small letters: it has few vowels, or many other letters in a row.
func isScrambled(secret []byte) bool {
	const few, many = 4, 5
	vowels, row, longest := 0, 0, 0
	for _, b := range secret {
		switch {
		case bytes.IndexByte([]byte("aeiouy"), b) >= 0:
			vowels, row = vowels+1, 0
		case b != ' ':
			row++
			longest = max(longest, row)
		}
	}
	return (vowels <= few || longest >= many) && varied(secret, 6) && !bytes.Contains(secret, []byte("pass"))
}

// isSession reports whether the value of a session is a secret. Programs write a UUID into logs, as the name of a session.
func isSession(secret []byte) bool { return isRandom(secret) && !uuid().Match(secret) }

// uuid matches a text that begins with a UUID.
var uuid = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?:[^0-9A-Za-z]|$)`)
})

// isBearer reports whether secret is a token and not a word of documentation.
func isBearer(secret []byte) bool {
	if bytes.HasPrefix(secret, []byte("eyJ")) {
		return true
	}
	return !isStandIn(secret) && isRandom(secret)
}

// isMixedEnd reports whether the last part of a token, behind its prefix, looks as if a program had drawn it from letters of both cases
// and digits.
func isMixedEnd(secret []byte) bool {
	const least = 10
	end := secret[bytes.LastIndexAny(secret, "-_")+1:]
	return varied(end, least) && mixed(end) && notExample(secret) && !isStandIn(secret)
}

// isDrawn reports whether the last part of a token looks as if a program had drawn it, also as a number in hex.
func isDrawn(secret []byte) bool {
	const long, least = 32, 10
	end := secret[bytes.LastIndexAny(secret, "-_")+1:]
	return isMixedEnd(secret) ||
		len(end) >= long && varied(end, least) && digits(end) > 0 && digits(end) < len(end) && notExample(secret) && !isStandIn(secret)
}

// isTyped reports whether a literal in a program is a password: drawn letters, or letters and digits that are no words.
func isTyped(secret []byte) bool {
	return isStrong(secret) && !isWordy(secret) && (digits(secret) > 0 || isScattered(secret))
}

// isSaid reports whether a word that a sentence calls a password is one.
func isSaid(secret []byte) bool {
	const least = 12
	word := bytes.TrimRight(secret, ".!?)")
	return isMixedEnd(secret) || len(word) >= least && !isWeakPassword(word) && isScattered(word) && !isStandIn(secret)
}

// isScattered reports whether text changes between small letters and capitals more often than a name of a program, such as getUserName,
// and has a part that nobody can pronounce.
func isScattered(text []byte) bool {
	const parts, letters = 2, 7 // two parts in seven letters
	words := nameParts(string(text))
	return len(words)*letters > len(text)*parts && slices.ContainsFunc(words, func(word string) bool { return !strings.ContainsAny(word, "aeiouy") })
}

// isDiscordToken reports whether the first part of a token is the number of a bot in base64.
func isDiscordToken(token []byte) bool {
	id, _, _ := bytes.Cut(token, []byte("."))
	number, err := base64.RawURLEncoding.DecodeString(string(id))
	return err == nil && digits(number) == len(number)
}
