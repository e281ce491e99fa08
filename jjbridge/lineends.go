package jjbridge

import (
	"bytes"
	"runtime"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// lineEnds describes how git converts the line ends of a file: when git stores the file, and when git checks the file
// out. The rules are those of git's convert.c. They are repeated here because git itself would read every file once
// more. The zero value leaves line ends unchanged.
type lineEnds struct {
	converts bool // git stores CRLF as LF
	crlf     bool // git checks out LF as CRLF
	guesses  bool // git converts only text files, and checks out CRLF only if all stored line ends are LF
}

// The values of core.autocrlf.
const (
	autoCRLFOff   = "false"
	autoCRLFOn    = "true"
	autoCRLFInput = "input"
)

// autoCRLF returns the setting core.autocrlf as autoCRLFOff, autoCRLFOn or autoCRLFInput. A missing or invalid
// setting is autoCRLFOff.
func (r contentRules) autoCRLF() string {
	if value, _ := r.config.Get("core.autocrlf"); strings.EqualFold(value, autoCRLFInput) {
		return autoCRLFInput
	}
	if on, err := r.config.Bool("core.autocrlf", false); err == nil && on {
		return autoCRLFOn
	}
	return autoCRLFOff
}

// textIsCRLF reports whether a checkout writes CRLF at the ends of lines of a text file without the attribute
// eol. The setting core.autocrlf decides first: true means CRLF, and input means LF. Otherwise the setting
// core.eol decides: crlf or lf. If it has another value, only Windows writes CRLF.
func (r contentRules) textIsCRLF() bool {
	switch r.autoCRLF() {
	case autoCRLFOn:
		return true
	case autoCRLFInput:
		return false
	}
	value, _ := r.config.Get("core.eol")
	switch strings.ToLower(value) {
	case "crlf":
		return true
	case "lf":
		return false
	}
	return runtime.GOOS == "windows"
}

// lineEndsOf returns the conversion of line ends for a file with the attributes attrs. If git does not convert the
// file, the result is the zero value.
func (r contentRules) lineEndsOf(attrs attributes) lineEnds {
	text, known := textAttribute(attrs["text"])
	if !known {
		text, known = textAttribute(attrs["crlf"])
	}
	if text == "unset" {
		return lineEnds{}
	}
	// The attribute eol decides first, then the attribute text, and at last the settings.
	ends := lineEnds{converts: true, guesses: text == "auto"}
	switch eol := attrs["eol"]; {
	case eol == "lf":
	case eol == "crlf":
		ends.crlf = true
	case text == autoCRLFInput:
	case known:
		ends.crlf = r.textIsCRLF()
	case r.autoCRLF() == autoCRLFOff:
		return lineEnds{}
	default:
		ends.guesses, ends.crlf = true, r.autoCRLF() == autoCRLFOn
	}
	return ends
}

// textAttribute returns value if it is a known value of the attribute text, or of its old name crlf. For any
// other value it returns "" and false.
func textAttribute(value string) (_ string, known bool) {
	switch value {
	case "set", "unset", "auto", autoCRLFInput:
		return value, true
	}
	return "", false
}

// alters reports whether a checkout of a stored file writes other bytes than data, the content of the file in
// the working copy. id is the id of the blob that git stores for the file. If sameBytes is true, the blob
// contains data unchanged. Otherwise the blob should contain data with LF in place of CRLF. If it does not, the
// file has changed since it was stored, and alters returns false.
func (e lineEnds) alters(data []byte, id objstore.ID, sameBytes bool) bool {
	if !e.converts {
		return false
	}
	normal := data
	if !sameBytes {
		if normal = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")); !id.Names(objstore.Blob, normal) {
			return false
		}
	}
	return !bytes.Equal(data, e.checkedOut(normal))
}

// checkedOut returns the bytes that a checkout writes for a file. content is the file's content as git stores
// it. If the checkout changes no line end, the result is the slice content itself. If e.guesses is true, a file
// that has a CRLF or looks binary stays unchanged.
func (e lineEnds) checkedOut(content []byte) []byte {
	crlf := bytes.Count(content, []byte("\r\n"))
	lf := bytes.Count(content, []byte("\n")) - crlf
	if !e.crlf || lf == 0 || e.guesses && (crlf > 0 || looksBinary(content)) {
		return content
	}
	out := make([]byte, 0, len(content)+lf)
	for i, c := range content {
		if c == '\n' && (i == 0 || content[i-1] != '\r') {
			out = append(out, '\r')
		}
		out = append(out, c)
	}
	return out
}

// looksBinary reports whether git treats data as binary. The rules are those of git's convert.c: a NUL, a lone
// CR, or more than one control character for 128 printable ones.
func looksBinary(data []byte) bool {
	var printable, other int
	for i, c := range data {
		switch {
		case c == 0, c == '\r' && (i+1 == len(data) || data[i+1] != '\n'):
			return true
		case c == '\r', c == '\n':
		// 127 is DEL. The control character 27 is ESC, which counts as printable.
		case c == 127, c < 32 && c != '\b' && c != '\t' && c != 27 && c != '\f':
			other++
		default:
			printable++
		}
	}
	if len(data) > 0 && data[len(data)-1] == 26 {
		other-- // the end-of-file mark of DOS
	}
	return printable>>7 < other
}
