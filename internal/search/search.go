package search

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// block is how many documents are chosen from the index at a time. Hits are in the order of time within a block.
const block = 4000

// Search yields the hits of a query in the state of the last Sync, newest first: if more than a few thousand documents may match, then in blocks of those that
// were indexed last. It ends with the first error. Code: usage if the query is invalid.
func (x *Index) Search(ctx context.Context, q Query) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		m, err := newMatcher(q)
		if err != nil {
			yield(Hit{}, err)
			return
		}
		s := searcher{Index: x, query: q, matcher: m}
		if err := s.run(ctx, func(h Hit) bool { return yield(h, nil) }); err != nil {
			yield(Hit{}, timeline.Explain(err))
		}
	}
}

// searcher answers one query.
type searcher struct {
	*Index
	*matcher

	query Query
}

// candidate is a place of a document that may match.
type candidate struct {
	Hit

	doc   int64
	hash  []byte
	entry []byte
}

// run yields the hits until yield returns false.
func (s *searcher) run(ctx context.Context, yield func(Hit) bool) error {
	hits := 0
	for upto := int64(math.MaxInt64); upto > 0; {
		docs, next, err := s.docs(ctx, upto)
		if err != nil {
			return err
		}
		candidates, err := s.places(ctx, docs)
		if err != nil {
			return err
		}
		texts := make(map[int64]*Hit) // documents that several runs have
		for _, c := range candidates {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			of, known := texts[c.doc]
			if !known {
				if of, err = s.look(c); err != nil {
					return err
				}
				texts[c.doc] = of
			}
			if of == nil {
				continue
			}
			c.Lines, c.More = of.Lines, of.More
			if hits++; !yield(c.Hit) || hits == s.query.Limit {
				return nil
			}
		}
		upto = next
	}
	return nil
}

// wants reports whether the query is for a kind.
func (s *searcher) wants(kind Kind) bool {
	return (len(s.query.Kinds) == 0 || slices.Contains(s.query.Kinds, kind)) && (kind == Code || s.prose)
}

// docs returns the documents below a number that may match, at most two blocks, and the number below which it has looked for none.
func (s *searcher) docs(ctx context.Context, upto int64) (docs []int64, next int64, err error) {
	var lists [][]int64
	if s.wants(Code) {
		list, err := s.list(ctx, "code", s.grams, "=", upto)
		if err != nil {
			return nil, 0, err
		}
		lists = append(lists, list)
	}
	if slices.ContainsFunc([]Kind{Outputs, Logs, Prompts, Talk, Calls, Events}, s.wants) {
		list, err := s.list(ctx, "words", s.words, "<>", upto)
		if err != nil {
			return nil, 0, err
		}
		lists = append(lists, list)
	}
	for _, list := range lists {
		if len(list) == block {
			next = max(next, list[block-1])
		}
		docs = append(docs, list...)
	}
	return slices.DeleteFunc(docs, func(doc int64) bool { return doc < next }), next, nil
}

// list returns the newest documents below a number that have all phrases in a table of the index. Without a phrase, these are all documents whose
// kind compares to [Code] as the operator says.
func (s *searcher) list(ctx context.Context, table string, phrases []string, operator string, upto int64) (docs []int64, err error) {
	query, args := "SELECT id FROM docs WHERE kind "+operator+" ? AND id < ? ORDER BY id DESC LIMIT ?", []any{Code, upto, block}
	if len(phrases) > 0 {
		query = "SELECT rowid FROM " + table + " WHERE " + table + " MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?"
		args = []any{match(phrases), upto, block}
	}
	err = s.file.Use(ctx, func(db *sql.DB) error {
		docs = docs[:0]
		return each(ctx, db, query, args, func(scan func(...any) error) error {
			var doc int64
			err := scan(&doc)
			docs = append(docs, doc)
			return err
		})
	})
	return docs, err
}

// places returns the places of documents that the query is for, newest first.
func (s *searcher) places(ctx context.Context, docs []int64) (list []candidate, err error) {
	if len(docs) == 0 {
		return nil, nil
	}
	ids, err := json.Marshal(docs)
	if err != nil {
		return nil, err
	}
	query := `SELECT d.id, d.kind, d.hash, r.run, e.frame, e.at, e.entry, p.part, p.key FROM json_each(?) AS j
		CROSS JOIN docs AS d ON d.id = j.value CROSS JOIN places AS p ON p.doc = d.id
		CROSS JOIN entries AS e ON e.id = p.entry CROSS JOIN runs AS r ON r.id = p.run WHERE e.at >= ?`
	args := []any{string(ids), s.query.SinceMs}
	if s.query.Run != "" {
		query, args = query+" AND r.run = ?", append(args, s.query.Run)
	}
	err = s.file.Use(ctx, func(db *sql.DB) error {
		list = nil
		return each(ctx, db, query, args, func(scan func(...any) error) error {
			var c candidate
			err := scan(&c.doc, &c.Kind, &c.hash, &c.Run, &c.Frame, &c.AtMs, &c.entry, &c.Part, &c.Key)
			if s.wants(c.Kind) {
				list = append(list, c)
			}
			return err
		})
	})
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.AtMs, a.AtMs), cmp.Compare(a.Run, b.Run), cmp.Compare(b.Frame, a.Frame), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.doc, b.doc))
	})
	return list, err
}

// look reads the text of a document, and returns the lines that match, or nil if none does. A text that is gone meanwhile does not match.
func (s *searcher) look(c candidate) (*Hit, error) {
	text, err := s.text(c)
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := s.find(c.Kind, text)
	if len(all) == 0 {
		return nil, nil
	}
	h := &Hit{}
	h.Lines, h.More = lines(text, all, s.query.Context)
	return h, nil
}

// text reads the text of a document from the repository.
func (s *searcher) text(c candidate) (string, error) {
	objects := s.store.Objects()
	if c.Kind == Code {
		id, err := objstore.IDFromBytes(c.hash)
		if err != nil {
			return "", err
		}
		return readFile(objects, id)
	}
	id, err := objstore.IDFromBytes(c.entry)
	if err != nil {
		return "", err
	}
	e, err := snapshot.ReadEntry(objects, id)
	if err != nil {
		return "", err
	}
	text, err := rowAt(e, c)
	return bounded(text), err
}

// rowAt returns the text that an entry has in a place.
func rowAt(e *snapshot.Entry, c candidate) (string, error) {
	switch c.Part {
	case eventsPart:
		events, err := e.Events()
		return eventsText(events), err
	case inputPart:
		state, err := e.State()
		if err != nil {
			return "", err
		}
		input, err := state.Input()
		return flat(input), err
	}
	var rows *page.Collection
	p, ok := partOf(c.Kind, c.Part)
	if !ok {
		return "", errors.New("the search index has a text in no part of an entry")
	}
	var err error
	if table, isTable := strings.CutPrefix(c.Part, snapshot.OutputCollection("")); isTable {
		var state *snapshot.State
		if state, err = e.State(); err == nil {
			rows = state.Outputs(table)
		}
	} else {
		rows, err = e.Rows(c.Part)
	}
	if err != nil {
		return "", err
	}
	value, found, err := rows.Get(c.Key)
	if err != nil || !found {
		return "", err
	}
	run, err := e.RunRow()
	if err != nil {
		return "", err
	}
	return p.text(page.Row{Key: c.Key, Value: value}, dialect.For(run.Workflow))
}
