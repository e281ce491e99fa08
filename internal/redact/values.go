package redact

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// word matches a name of a program: URL_2, api_key2, apiKey, OAuth2Token.
const word = `(?-i:[A-Z_][A-Z0-9_]*|[a-z_][a-z0-9_]*|[a-z]*[0-9]{0,2}(?:_?(?:[A-Z]+[a-z]{2,}|[A-Z]{2,}|[A-Z][a-z]?|_[a-z]{2,})[0-9]{0,2})+)`

// standIns match the start of a text that only stands for a secret, or all of it. What is sealed stands for one, too: the values of a
// SealedSecret of Kubernetes begin with the length of their key, and those of a key service with its header. A password may begin with
// '$', '!' or '<', too, so that more must follow: a name, as in $NAME, !Ref and <your password>, or a bracket.
var standIns = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:\$(?:[({\[.$]|[@*#?]$|[0-9a-z]{0,2}\$|[0-9]{1,2}(?:$|[^0-9A-Za-z!#%^&*])|` + word + `(?:$|[^0-9A-Za-z_!#%^&*=?~]))` +
		`|!{1,2}(?:[./*]|\$?` + word + `(?:$|[\s.,:;/\[)\]}]))|<(?:[%?!/<(=]|[^<>]*>|[a-z_ .:/|-]*$)|encrypted:|%[A-Z_]+%$|\{\{|\*{3}|\[?redacted|enc[\[(]|env[.(]|op://|vault:|arn:|urn:|sha(?:1|256|384|512)[:-]|phc_|pk[_-][a-z]+[_-]|pk\.eyJ|(?:pbkdf2|argon2|bcrypt|scrypt|scram|sha1|sha256|sha512|md5)[a-z0-9_:-]*\$|(?:required|nullable|sometimes|present|filled|bail|string|confirmed)\|[a-z]|(?-i:Ag[A-D][0-9A-Za-z+/]{100}|AQICAH[0-9A-Za-z+/]{60})|sb_publishable_|age1|ssh-|[a-z+]{2,12}://|\.{0,2}~?(?:/[a-z._-]{2,}){2}|\./` +
		`|(?:user|pass|password|passwd|pwd|secret|token|null|none|true|false|undefined|test|string|required|optional)>?$|(?:password|passw0rd|qwerty|letmein|welcome)[0-9!]{1,4}$|\[[a-z_ -]+\]$)`)
})

// standInWords are what a text that only stands for a secret may have anywhere, in lower case.
var standInWords = [][]byte{
	[]byte("${"), []byte("{{"), []byte("$("), []byte("****"), []byte("xxxxxx"), []byte("######"), []byte("..."), []byte("process.env"), []byte("os.environ"), []byte("getenv"),
	[]byte("changeme"), []byte("change_me"), []byte("change-me"), []byte("your-"), []byte("your_"), []byte("your "), []byte("example"), []byte("placeholder"), []byte("dummy"), []byte("notasecret"),
	[]byte("replaceme"), []byte("replace-me"), []byte("replace_me"), []byte("replace-with"), []byte("replace_with"), []byte("replacewith"), []byte("replace-this"), []byte("replace_this"), []byte("replacethis"),
}

// isStandIn reports whether text only stands for a secret.
func isStandIn(text []byte) bool {
	const short = 256
	var buffer [short]byte
	lower := append(buffer[:0], text...)
	for i, b := range lower {
		if b >= 'A' && b <= 'Z' {
			lower[i] = b | 0x20
		}
	}
	if bytes.HasSuffix(lower, []byte("-here")) || bytes.HasSuffix(lower, []byte("_here")) {
		return true
	}
	for _, word := range standInWords {
		if bytes.Contains(lower, word) {
			return true
		}
	}
	return standIns().Match(text)
}

// isCode reports whether an unquoted value is an expression of a program: a path of names.
func isCode(value []byte) bool {
	if bytes.ContainsAny(value, "(") {
		return true
	}
	dots := 0
	for i, b := range value {
		switch {
		case b == '.' && i > 0 && i < len(value)-1:
			dots++
		case b != '$' && !isToken(b):
			return false
		}
	}
	return dots > 0 && dots < 4 && !mixedDigits(value) && (len(value) < 40 || entropy(value) < 4.5)
}

// mixedDigits reports whether a fifth of text is digits.
func mixedDigits(text []byte) bool { return digits(text)*5 >= len(text) }

func digits(text []byte) (n int) {
	for _, b := range text {
		if b >= '0' && b <= '9' {
			n++
		}
	}
	return n
}

// isWeakPassword reports whether value is too plain to be a password: short, or of one kind of letters.
func isWeakPassword(value []byte) bool {
	const least = 8
	if len(value) < least || !varied(value, 5) {
		return true
	}
	var lower, upper, digit, other bool
	for _, b := range value {
		switch {
		case b >= 'a' && b <= 'z':
			lower = true
		case b >= 'A' && b <= 'Z':
			upper = true
		case b >= '0' && b <= '9':
			digit = true
		default:
			other = true
		}
	}
	if digit && (lower || upper) {
		return false
	}
	drawn := lower && upper && len(value) >= 12 && entropy(value) > 3.3
	return !drawn && (!other || !digit)
}

// nameOfPassword are words that stand in the name of a password or in what a program says of one, and not in a password.
var nameOfPassword = strings.Fields("password pass passwd secret token key credential credentials auth user admin required invalid missing confirm current forgot reset change " +
	"update enter input field form label text name value error page login config default test your new not the for with only one time code least vault env hidden none")

// isPassphrase reports whether value is words that a person has joined to a password, such as three-other-words.
func isPassphrase(value []byte) bool {
	const few, least, most = 3, 3, 12
	words := strings.Split(string(value), "-")
	return len(words) >= few && !slices.ContainsFunc(words, func(word string) bool {
		return len(word) < least || len(word) > most || strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) || slices.Contains(nameOfPassword, word)
	})
}

// isRandom reports whether value looks as if a program had drawn it.
func isRandom(value []byte) bool {
	const least = 16
	if len(value) < least || isWordy(value) {
		return false
	}
	for _, b := range value {
		if b < '!' || b > '~' {
			return false
		}
	}
	hasLetter := false
	for _, b := range value {
		hasLetter = hasLetter || b|0x20 >= 'a' && b|0x20 <= 'z'
	}
	switch {
	case !hasLetter:
		return false
	case digits(value) == 0:
		return len(value) >= 20 && entropy(value) > 3.8 && capitals(value)*6 > len(value)
	}
	return entropy(value) >= 2.9
}

func capitals(text []byte) (n int) {
	for _, b := range text {
		if b >= 'A' && b <= 'Z' {
			n++
		}
	}
	return n
}

// isWordy reports whether value consists of words: lower-case words between separators, with few digits.
func isWordy(value []byte) bool {
	words, letters := 0, 0
	for _, part := range bytes.FieldsFunc(value, func(r rune) bool { return r == '-' || r == '_' || r == '.' || r == '/' || r == ':' }) {
		plain := len(part) > 2 && digits(part) == 0
		for _, b := range part[min(1, len(part)):] {
			plain = plain && b >= 'a' && b <= 'z'
		}
		if plain {
			words++
			letters += len(part)
		}
	}
	return words > 1 && letters*2 >= len(value)
}

// entropy returns the entropy of the bytes of text, in bits a byte.
func entropy(text []byte) float64 {
	var counts [256]int
	for _, b := range text {
		counts[b]++
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
