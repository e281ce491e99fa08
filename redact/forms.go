package redact

import (
	"bytes"
	"encoding/base64"
)

// privateKey is the name of the rule for private keys. Its match is only the first line; see keyBlock.
const privateKey = "private-key"

// forms are the rules for secrets that are recognized by the form of a file, a command or a header. Each pattern has a group.
var forms = []shape{
	{name: "url-password", literals: []string{"://", "%3a%2f%2f"}, pattern: `://[^\s:/@"'<>]{0,64}:([^\s@/"'<>]{3,})@[0-9A-Za-z]`, free: true, check: isPassword},
	{name: "url-signature", literals: []string{"sig=", "sig%3d"}, pattern: `sig=([0-9A-Za-z%+/_-]{40,}=?)`, free: true, check: mixed},
	{name: "netrc-password", literals: []string{"password", "passwd"}, spaced: true, back: 200, pattern: `(?:login|user|machine)\s+\S{1,}\s+(?:password|passwd)\s+(\S{6,})`, free: true, check: isPassword},
	{name: "pgpass-password", literals: []string{":5432:", ":5433:", ":6432:", "%3a5432%3a"}, pattern: `:[0-9]{4}:[^:\s]{1,64}:[^:\s]{1,64}:([^\s:"'\\]{6,})`, free: true, check: isPassword},
	{name: "registry-auth", literals: []string{`"auth`, `\"auth`, "%22auth", "_auth=", "_auth =", "_auth%3d"}, pattern: `\\*(?:"auth\\*"\s{0,4}:\s{0,4}\\*"|_auth\s?=\s?"?)([0-9A-Za-z+/_-]{8,}={0,2})`, free: true, check: isUserPassword},
	{name: "basic-auth", literals: []string{"basic ", "basic%20"}, pattern: `(?i:basic) {1,4}([0-9A-Za-z+/_-]{8,}={0,2})`, free: true, check: isUserPassword},
	{name: "bearer-token", literals: []string{"bearer ", "bearer%20"}, pattern: `(?i:bearer) {1,4}([0-9A-Za-z._~+/-]{20,}={0,2})`, free: true, ahead: 4100, check: isBearer},
	{name: "session-cookie", literals: []string{"session=", "sessionid=", ".sid=", "phpsessid=", "session%3d", "sessionid%3d", ".sid%3d", "phpsessid%3d"}, pattern: `(?i:session|sessionid|\.sid|phpsessid)=([^\s;"'\\,]{16,})`, free: true, check: isRandom},
	{name: "curl-password", literals: []string{"curl ", "curl%20"}, pattern: `curl [^\n]*?(?:-u|--user|--proxy-user)[ =]["']?[^\s:"']{1,64}:([^\s"']{4,})`, free: true, check: isPassword},
	{name: "mysql-password", literals: []string{"mysql", "mariadb"}, pattern: `(?:mysql|mariadb)(?:dump|admin|-dump|-admin)?\s[^\n]*?\s-p([^\s"']{6,})`, free: true, check: isPassword},
	{name: "login-password", literals: []string{" login ", "%20login%20"}, pattern: ` login\s[^\n]*?(?:-p|--password)[ =]["']?([^\s"']{6,})`, free: true, check: isPassword},
	{name: "sql-password", literals: []string{"identified by"}, pattern: `(?i:identified by) (?:password )?["']([^\s"']{6,})["']`, free: true, check: isPassword},
	{name: "secret-argument", literals: []string{"secret set ", "secret put "}, back: 240, pattern: `(?:printf|echo)(?: -n)? ["']?([^\s"'|]{8,})["']?\s*\|[^\n]*secret (?:set|put) `, free: true, check: isPassword},
}

// isPassword reports whether a text at the place of a password is one: not a variable, not a word of documentation.
func isPassword(secret []byte) bool { return !isStandIn(secret) && varied(secret, 4) }

// isUserPassword reports whether secret is a user and a password in base64.
func isUserPassword(secret []byte) bool {
	text, err := base64.StdEncoding.DecodeString(string(secret))
	if err != nil {
		text, err = base64.RawStdEncoding.DecodeString(string(bytes.TrimRight(secret, "=")))
	}
	colon := bytes.IndexByte(text, ':')
	return err == nil && colon > 0 && colon < len(text)-1 && printable(text)
}

// isBearer reports whether secret is a token and not a word of documentation.
func isBearer(secret []byte) bool {
	if bytes.HasPrefix(secret, []byte("eyJ")) {
		return true
	}
	return !isStandIn(secret) && isRandom(secret)
}

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
		if n > 0 || isHeader {
			letters += n
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
