package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
)

// githubToken reports whether a secret of GitHub or npm is not one of documentation: a row of the same letter. Their
// last six characters are a sum of the thirty before them. The sum is not checked, because people test with invented
// tokens, and these are taken out as well.
func githubToken(secret []byte) bool { return varied(secret[4:], 8) }

// sentryToken reports whether a token of Sentry is not one of documentation: a row of the same letter.
func sentryToken(secret []byte) bool { return varied(secret[len("sntryu_"):], 8) }

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
