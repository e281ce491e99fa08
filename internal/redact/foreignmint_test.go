package redact_test

import (
	"encoding/base64"
	"hash/crc32"
	"math/rand/v2"
	"strings"

	"github.com/git-smithers/git-smithers/internal/redact"
)

// foreignCase is a text with one secret in it, or a harmless text, whose secret is empty.
type foreignCase struct {
	kind, text, secret string
	start              int // of the secret in the text
}

// caughtBy reports whether the findings cover at least half of the secret's bytes.
func (c foreignCase) caughtBy(finder *redact.Finder) bool {
	covered := make([]bool, len(c.secret))
	for _, f := range finder.Find([]byte(c.text)) {
		for i := max(f.Start, c.start); i < min(f.End, c.start+len(c.secret)); i++ {
			covered[i-c.start] = true
		}
	}
	n := 0
	for _, is := range covered {
		if is {
			n++
		}
	}
	return 2*n >= len(c.secret)
}

const (
	digits  = "0123456789"
	lower   = "abcdefghijklmnopqrstuvwxyz"
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum   = digits + upper + lower // the order of base62 in GitHub's checksums
	hexa    = "0123456789abcdef"
	b64url  = alnum + "-_"
	symbols = "!#%&*+-.=?@^_~"

	// here stands for the secret in the template of a case.
	here = "§"
)

// mint makes cases. It builds every value at run time, because git hosts refuse a push that
// holds a valid token.
type mint struct {
	random *rand.Rand
	cases  []foreignCase
}

func newMint(seed uint64) *mint {
	return &mint{random: rand.New(rand.NewPCG(seed, 0))}
}

// secret adds a case. The template holds [here] once, at the place of the secret.
func (m *mint) secret(kind, secret, template string) {
	before, after, found := strings.Cut(template, here)
	if !found || strings.Contains(after, here) {
		panic("the template of " + kind + " must have one place for the secret")
	}
	m.cases = append(m.cases, foreignCase{kind, before + secret + after, secret, len(before)})
}

func (m *mint) harmless(kind, text string) {
	m.cases = append(m.cases, foreignCase{kind: kind, text: text})
}

// of returns n characters of the alphabet.
func (m *mint) of(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[m.random.IntN(len(alphabet))]
	}
	return string(b)
}

func (m *mint) hex(n int) string { return m.of(hexa, n) }

func (m *mint) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(m.random.Uint32())
	}
	return b
}

// base64 returns the padded base64 of n bytes.
func (m *mint) base64(n int) string { return base64.StdEncoding.EncodeToString(m.bytes(n)) }

func (m *mint) uuid() string {
	return m.hex(8) + "-" + m.hex(4) + "-4" + m.hex(3) + "-" + m.of("89ab", 1) + m.hex(3) + "-" + m.hex(12)
}

// number returns n digits. The first is not 0.
func (m *mint) number(n int) string { return m.of(digits[1:], 1) + m.of(digits, n-1) }

// checked returns a token in the form of GitHub and npm: 30 characters and their CRC in base62.
func (m *mint) checked(prefix string) string {
	body := m.of(alnum, 30)
	sum := crc32.ChecksumIEEE([]byte(body))
	check := make([]byte, 6)
	for i := len(check) - 1; i >= 0; i-- {
		check[i] = alnum[sum%62]
		sum /= 62
	}
	return prefix + body + string(check)
}

// password returns a password as a generator makes it: characters of all classes.
func (m *mint) password(n int) string {
	b := []byte(m.of(upper, 1) + m.of(lower, 1) + m.of(digits, 1) + m.of("!#%*-._~", 1) + m.of(alnum, n-4))
	m.random.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
	return string(b)
}

// phrase returns a password as people make it: two words, a number and a mark.
func (m *mint) phrase() string {
	words := []string{"harbor", "kettle", "maple", "copper", "walrus", "violet", "thunder", "saddle", "ginger", "cobalt"}
	word := func() string { return words[m.random.IntN(len(words))] }
	first := word()
	return strings.ToUpper(first[:1]) + first[1:] + "-" + word() + m.number(4) + m.of("!?*", 1)
}

// signedToken returns a JWT with this payload.
func (m *mint) signedToken(payload string) string {
	enc := base64.RawURLEncoding
	return enc.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		enc.EncodeToString([]byte(payload)) + "." + enc.EncodeToString(m.bytes(32))
}

// folded breaks text into lines of the given width.
func folded(text string, width int) string {
	var lines []string
	for len(text) > width {
		lines = append(lines, text[:width])
		text = text[width:]
	}
	return strings.Join(append(lines, text), "\n")
}

// armored returns [here] between the lines that enclose a key of this sort.
func armored(sort string) string {
	return "-----BEGIN " + sort + "-----\n" + here + "\n-----END " + sort + "-----\n"
}
