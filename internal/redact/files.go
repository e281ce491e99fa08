package redact

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// secretNames are the names of files that hold nothing but secrets, or whose content cannot be searched, apart from
// environment files. A file that also exists without a secret is missing: its content decides. Such files are *.pem (often a public certificate), .npmrc,
// .pypirc, kubeconfig and *.tfvars. Names are compared in lower case.
var secretNames = struct {
	whole, paths, ends []string
}{
	whole: []string{
		".netrc", "_netrc", ".pgpass", ".git-credentials", ".htpasswd", ".vault-token",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", // the names with .pub are public keys
	},
	paths: []string{".aws/credentials"},
	ends:  []string{".key", ".p12", ".pfx", ".jks", ".keystore", ".keytab", ".ppk", ".kdbx"},
}

// templates are the parts of an environment file's name that make the file a template without values.
var templates = []string{"example", "examples", "sample", "template", "tmpl", "dist", "default", "defaults", "schema"}

// SecretFile reports whether a file is named like a file of secrets: a private key, a store of keys or passwords, or an
// environment file such as .env and .env.local, but not .env.example. name is the file's path, with slashes.
func SecretFile(name string) bool {
	name = strings.ToLower(name)
	base := path.Base(name)
	if strings.HasPrefix(base, ".env.") || strings.HasSuffix(base, ".env") {
		return !slices.ContainsFunc(strings.Split(base, "."), func(part string) bool { return slices.Contains(templates, part) })
	}
	return slices.Contains(secretNames.whole, base) ||
		slices.ContainsFunc(secretNames.ends, func(end string) bool { return strings.HasSuffix(base, end) && base != end }) ||
		slices.ContainsFunc(secretNames.paths, func(end string) bool { return name == end || strings.HasSuffix(name, "/"+end) })
}

// vague are the rules that go by the words around a value. Compiled programs have such words beside random bytes, so
// these rules do not count in a binary file.
var vague = []string{assigned, "netrc-password", "basic-auth"}

// The sizes of a search in bytes.
const (
	piece      = 1 << 20 // of a content that is searched at once
	overlap    = 8 << 10 // of two pieces: the longest secret that is surely found
	binaryHead = 8 << 10 // a file with a NUL in its first bytes is binary, as git decides
)

// FirstIn returns the rule of a secret in the content of a file. It searches a long content piece by piece, and stops at the
// first piece with a secret. path is the file's path in the working copy, with slashes.
func (f *Finder) FirstIn(path string, content []byte) (rule string, found bool) {
	binary := isBinary(content)
	for len(content) > 0 {
		end := len(content)
		if end > piece {
			end = lineStart(content, piece)
		}
		for _, finding := range f.FindIn(path, content[:end]) {
			if !binary || !slices.Contains(vague, finding.Rule) {
				return finding.Rule, true
			}
		}
		if end == len(content) {
			break
		}
		content = content[lineStart(content, end-overlap):]
	}
	return "", false
}

// lineStart returns the start of the line that contains content[at], or at if the line starts more than overlap bytes
// before. A piece that starts with a line has whole names before its values.
func lineStart(content []byte, at int) int {
	from := max(at-overlap, 0)
	if i := bytes.LastIndexByte(content[from:at], '\n'); i >= 0 {
		return from + i + 1
	}
	return at
}
