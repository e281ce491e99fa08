package vault

import (
	"cmp"
	"slices"

	"github.com/git-smithers/git-smithers/internal/redact"
)

// maxAgain is the number of secrets that are found again without the words beside them: the newest.
const maxAgain = 500

// again finds the secrets again that texts of a run, and of the runs that it was forked from, calls or is called by, have had. A title may show
// an output's password without the name beside it.
type again struct {
	finder *redact.Finder  // nil before the first text
	seen   int64           // the vault's count of secrets when finder was made
	has    map[string]bool // the secrets that were looked at
	groups []group         // the older group is the larger one
}

// group is a search for some secrets. Groups of like size are joined, so that a secret is built into log n searches, and not into n.
type group struct {
	values []redact.Value
	known  *redact.Known
}

// finder returns what finds the secrets of a text: the vault's finder, which also finds again what this process knows that the run and its
// family have had.
func (b *Book) finder() (*redact.Finder, error) {
	base, err := b.vault.opts.Finder()
	seen := b.vault.found.Load()
	b.mu.Lock()
	first := b.again.finder == nil
	if !first && b.again.seen == seen {
		defer b.mu.Unlock()
		return b.again.finder, err
	}
	b.mu.Unlock()
	if first {
		b.readAncestry()
		seen = b.vault.found.Load()
	}
	var values []redact.Value
	for _, book := range b.vault.family(b) { // no lock of ours is held: a relative may look at this book
		values = append(values, book.secrets()...)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.again.learn(values)
	b.again.seen, b.again.finder = seen, base.Knowing(b.again.searches()...)
	return b.again.finder, err
}

// readAncestry reads the files of the run, of its ancestors and of its caller. Whoever stores or reveals a secret gets their errors.
func (b *Book) readAncestry() {
	b.mu.Lock()
	_ = b.refresh()
	_ = b.inherited()
	caller := b.caller
	b.mu.Unlock()
	if caller == "" {
		return
	}
	above := b.vault.book(caller)
	above.mu.Lock()
	defer above.mu.Unlock()
	_ = above.refresh()
}

// secrets returns the secrets of the book and of its ancestors, the oldest first.
func (b *Book) secrets() []redact.Value {
	b.mu.Lock()
	defer b.mu.Unlock()
	numbers := make(map[string]int)
	var values []redact.Value
	for _, book := range append(slices.Clone(b.above), b) {
		for text, p := range book.numbers {
			if _, ok := numbers[text]; !ok {
				values = append(values, redact.Value{Name: p.Rule, Text: text, Found: true})
			}
			numbers[text] = p.Number
		}
	}
	slices.SortFunc(values, func(a, b redact.Value) int {
		return cmp.Or(cmp.Compare(numbers[a.Text], numbers[b.Text]), cmp.Compare(a.Text, b.Text))
	})
	return values
}

// family returns the books in use of the run, of the run that called it first, and of all runs that were called by it, directly or not.
func (v *Vault) family(b *Book) []*Book {
	v.mu.Lock()
	defer v.mu.Unlock()
	root := v.root(b.run)
	family := []*Book{b}
	for run, book := range v.books {
		if book != b && v.root(run) == root {
			family = append(family, book)
		}
	}
	return family
}

// root returns the run that called a run first, as far as this process knows. The caller holds v.mu.
func (v *Vault) root(run string) string {
	for range maxCalls {
		caller := v.callers[run]
		if caller == "" {
			break
		}
		run = caller
	}
	return run
}

// maxCalls is the depth of calls that is followed. A stranger's rows may call each other in a circle.
const maxCalls = 32

// learn adds the values that are new.
func (a *again) learn(values []redact.Value) {
	fresh := slices.DeleteFunc(values, func(v redact.Value) bool { return a.has[v.Text] })
	if a.has == nil {
		a.has = make(map[string]bool)
	}
	for _, v := range fresh {
		a.has[v.Text] = true
	}
	fresh = slices.DeleteFunc(fresh, func(v redact.Value) bool { return redact.Unmasked(v.Text) != "" })
	if len(fresh) == 0 {
		return
	}
	joined := group{values: fresh[max(0, len(fresh)-maxAgain):]}
	for n := len(a.groups); n > 0 && len(a.groups[n-1].values) < 2*len(joined.values); n-- {
		joined.values = append(slices.Clone(a.groups[n-1].values), joined.values...)
		a.groups = a.groups[:n-1]
	}
	joined.values = joined.values[max(0, len(joined.values)-maxAgain):]
	joined.known = redact.NewKnown(joined.values)
	a.groups = append(a.groups, joined)
	for total := a.size(); total-len(a.groups[0].values) >= maxAgain; total = a.size() {
		a.groups = a.groups[1:]
	}
}

// size returns the number of values in all groups.
func (a *again) size() int {
	n := 0
	for _, g := range a.groups {
		n += len(g.values)
	}
	return n
}

// searches returns the searches of all groups.
func (a *again) searches() []*redact.Known {
	all := make([]*redact.Known, len(a.groups))
	for i, g := range a.groups {
		all[i] = g.known
	}
	return all
}
