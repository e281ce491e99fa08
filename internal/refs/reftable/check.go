package reftable

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Check reads the whole stack and returns what is wrong with it, a sentence for each table. It reads every block of refs
// and reflogs, but neither the objects to which refs point nor the blocks that find refs by their objects. The error
// wraps ErrAbsent if the folder does not exist.
func (s *Stack) Check() (problems []string, err error) {
	text, err := s.readList()
	if errors.Is(err, ErrAbsent) {
		return nil, err
	}
	names, invalid := s.parseList(text)
	if len(names) == 0 && invalid == nil && err == nil {
		_, invalid = s.Look() // there may be tables that the list lacks
	}
	if invalid = cmp.Or(err, invalid); invalid != nil {
		problems, names = []string{invalid.Error()}, nil
	}
	last := uint64(0)
	for _, name := range names {
		t, err := openTable(filepath.Join(s.dir, name), s.hash)
		if errors.Is(err, fs.ErrNotExist) {
			if now, _ := s.readList(); now != text { // another process has merged the table
				return s.Check()
			}
			err = s.damaged("the table %s is missing", name)
		}
		if err == nil {
			err = t.check(last)
			last = t.last
		}
		if err != nil {
			problems = append(problems, err.Error())
		}
	}
	return problems, nil
}

// check returns the first thing that is wrong with the table. last is the number of the newest transaction in the table below.
func (t *table) check(last uint64) error {
	if t.first > t.last || t.last < last {
		return t.damaged("its transactions are older than those of the table below", nil)
	}
	for _, s := range []section{t.refs, t.logs} {
		all, one := t.walk(section{s.sort, s.start, 0}), t.walk(s)
		key, off := "", int64(-1)
		for more := all.seek(""); more; more = all.next() {
			if string(all.key) <= key || all.kind == refBlock && all.entry.index > t.last {
				return t.damaged(fmt.Sprintf("%.80q is in the wrong place", all.key), nil)
			}
			key = string(all.key)
			// It takes too long to inflate the block of each reflog entry.
			if (all.kind == refBlock || all.off != off) && (!one.seek(key) || one.off != all.off || one.at != all.at) {
				return cmp.Or(one.err, t.damaged(fmt.Sprintf("%.80q is not found by its name", key), nil))
			}
			off = all.off
		}
		if all.err != nil {
			return all.err
		}
	}
	return nil
}
