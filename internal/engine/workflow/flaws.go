package workflow

import (
	"errors"

	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// DetailFlaws is the detail of an invalid_workflow error that lists all flaws of the file, as []Flaw. An error of a
// single flaw does not have the detail.
const DetailFlaws = "flaws"

// maxFlaws is the maximum number of flaws that Parse reports. Parse stops after so many flaws.
const maxFlaws = 100

// Flaw is one problem of a workflow file.
type Flaw struct {
	Line    int    `json:"line"` // 0 means the whole file
	Message string `json:"message"`
	Hint    string `json:"hint"` // "" if the flaw has no hint
}

// errToldBefore is the error of a part that lacks a required key, if the mapping also has an unknown key. The unknown
// key is already reported, and may be a misspelling of the required key. People never see this error.
var errToldBefore = errors.New("the missing key may be misspelt")

// part calls read to read a part of the file. If read sets r.err, part moves this error to r.flaws, so that the next
// part can be read. If r.err is already set, part does nothing.
func (r *reader) part(read func()) {
	if r.err != nil {
		return
	}
	read()
	r.settle()
}

// key calls read with the value that fields has for a key, as a part of its own. If the key is missing, it does
// nothing.
func (r *reader) key(fields map[string]*yaml.Node, key string, read func(*yaml.Node)) {
	if n := fields[key]; n != nil {
		r.part(func() { read(n) })
	}
}

// lacks records the error that a mapping lacks a required key. at is the mapping. hint is the error's hint, and
// format and args are its message. If the mapping has an unknown key, which is already reported, lacks ends the part
// without another flaw.
func (r *reader) lacks(at *yaml.Node, hint, format string, args ...any) {
	if r.strange[at] && r.err == nil {
		r.err = errToldBefore
		return
	}
	r.fail(at, hint, format, args...)
}

// settle moves r.err to the flaws and clears r.err, so that the next part can be read. It drops errToldBefore, which
// is no flaw of its own. If the error is fatal, or the file now has maxFlaws flaws, r.err stays set and no further
// part is read.
func (r *reader) settle() {
	if r.err == nil || r.fatal {
		return
	}
	if flaw, ok := errors.AsType[*fault.Error](r.err); ok {
		r.flaws = append(r.flaws, flaw)
	}
	if r.fatal = len(r.flaws) == maxFlaws; !r.fatal {
		r.err = nil
	}
}

// flawed returns the first flaw of the file as an error. If the file has several flaws, the error's DetailFlaws has
// all of them. If the file has no flaw, flawed returns nil.
func (r *reader) flawed() error {
	all := r.flaws
	// r.err may hold the flaw that stopped the reading. settle has already added it if the file reached maxFlaws.
	if last, ok := errors.AsType[*fault.Error](r.err); ok && (len(all) == 0 || all[len(all)-1] != last) {
		all = append(all, last)
	}
	if len(all) < 2 {
		if len(all) == 0 {
			return nil
		}
		return all[0]
	}
	flaws := make([]Flaw, len(all))
	for i, e := range all {
		line, _ := e.Details["line"].(int)
		flaws[i] = Flaw{Line: line, Message: e.Msg}
		if len(e.Hints) > 0 {
			flaws[i].Hint = e.Hints[0]
		}
	}
	return all[0].Detail(DetailFlaws, flaws)
}
