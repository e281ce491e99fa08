package workflow

import (
	"errors"

	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// DetailFlaws is the detail of an invalid_workflow error that lists all flaws of the file, as
// []Flaw. It is present if there are several.
const DetailFlaws = "flaws"

// maxFlaws limits the number of flaws that are found in a file.
const maxFlaws = 100

// Flaw is one problem of a workflow file.
type Flaw struct {
	Line    int    `json:"line"` // 0 means the whole file
	Message string `json:"message"`
	Hint    string `json:"hint"` // "" if none
}

// errToldBefore ends a part with a missing key. An unknown key has been reported already, and may be its misspelling.
var errToldBefore = errors.New("what is missing may be what is misspelt")

// part reads a part of the file, and continues after it if the part is flawed.
func (r *reader) part(read func()) {
	if r.err != nil {
		return
	}
	read()
	r.settle()
}

// key reads the value of a key, if the key is there.
func (r *reader) key(fields map[string]*yaml.Node, key string, read func(*yaml.Node)) {
	if n := fields[key]; n != nil {
		r.part(func() { read(n) })
	}
}

// lacks is fail for a missing key. If the mapping has an unknown key, which is already reported,
// lacks reports nothing more.
func (r *reader) lacks(at *yaml.Node, hint, format string, args ...any) {
	if r.strange[at] && r.err == nil {
		r.err = errToldBefore
		return
	}
	r.fail(at, hint, format, args...)
}

// settle moves the error of a part to the flaws, so that the next part can be read.
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

// flawed returns all flaws of the file as one error; nil if there are none.
func (r *reader) flawed() error {
	all := r.flaws
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
