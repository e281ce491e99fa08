package timeline_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// forger writes entries that no appending would, with plain git.
type forger struct {
	*repotest.Repo
	t   *testing.T
	run string
}

func (f forger) tip() string { return "refs/smithers/_tip/" + f.run }

// object is the id that git knows by a name.
func (f forger) object(name string) objstore.ID {
	f.t.Helper()
	id, err := objstore.ParseID(f.Git("rev-parse", name))
	require.NoError(f.t, err)
	return id
}

// listing is what a tree has, with one entry put into the place of that name, if any.
func (f forger) listing(tree, mode, kind, id, name string) string {
	f.t.Helper()
	var lines []string
	for line := range strings.Lines(f.Git("ls-tree", tree) + "\n") {
		if !strings.HasSuffix(strings.TrimRight(line, "\n"), "\t"+name) && strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(append(lines, fmt.Sprintf("%s %s %s\t%s\n", mode, kind, id, name)), "")
}

// append adds an entry that is no frame to the run: the tip's tree with a tree or a file
// in the place of that name, and the tip's header as edit, if any, leaves it.
func (f forger) append(mode, kind, id, name string, edit func(*snapshot.Header)) {
	f.t.Helper()
	commit := f.object(f.tip())
	header, err := snapshot.DecodeHeader(commit, []byte(f.Git("cat-file", "commit", f.tip())+"\n"))
	require.NoError(f.t, err)
	header.Frame, header.Based, header.Parent, header.Subject = snapshot.NoFrame, nil, commit, "forged"
	header.Tree, err = objstore.ParseID(f.GitInput(f.listing(f.tip()+"^{tree}", mode, kind, id, name), "mktree"))
	require.NoError(f.t, err)
	if edit != nil {
		edit(&header)
	}
	f.Git("update-ref", f.tip(), f.GitInput(string(snapshot.EncodeHeader(header)), "hash-object", "-t", "commit", "-w", "--stdin"))
}

// row adds an entry of which run.json says something else.
func (f forger) row(from, to string) {
	f.t.Helper()
	text := f.Git("cat-file", "blob", f.tip()+":run.json") + "\n"
	require.Contains(f.t, text, from)
	f.append("100644", "blob", blob(f.Repo, strings.Replace(text, from, to, 1)), "run.json", nil)
}

// contentHash is the content hash of the state in an entry's tree, as docs/format.md defines it.
func (f forger) contentHash(tree objstore.ID) page.Sum {
	f.t.Helper()
	var text strings.Builder
	text.WriteString("smithers state 2\n")
	for line := range strings.Lines(f.Git("ls-tree", "--format=%(path) %(objectname)", tree.String()) + "\n") {
		name, _, _ := strings.Cut(line, " ")
		if name == "input" || name == "loops" || name == "nodes" || strings.HasPrefix(name, "outputs-") {
			text.WriteString(line)
		}
	}
	return sha256.Sum256([]byte(text.String()))
}

// counts adds an entry without events, whose commit says how many events there were.
func (f forger) counts(events int64) {
	f.t.Helper()
	f.append("100644", "blob", f.Git("rev-parse", f.tip()+":run.json"), "run.json", func(h *snapshot.Header) { h.NextSeq = events })
}

// tree adds an entry that has a tree from elsewhere.
func (f forger) tree(name, from string, edit func(*snapshot.Header)) {
	f.t.Helper()
	f.append("040000", "tree", f.Git("rev-parse", from), name, edit)
}

// journal is the tip's journal with another collection in it.
func (f forger) journal(name, id string) string {
	f.t.Helper()
	return f.GitInput(f.listing(f.tip()+":journal", "100644", "blob", id, name), "mktree")
}

// collection writes a collection of one row.
func (f forger) collection(key, value string) string {
	f.t.Helper()
	empty, err := page.Open(nil, objstore.ID{})
	require.NoError(f.t, err)
	c, err := empty.Edit(&looseWriter{Memory: objstoretest.Memory{Algorithm: objstore.AlgorithmOf(repotest.ObjectFormat())}, repo: f.Repo}, []page.Change{{Key: key, Value: []byte(value)}})
	require.NoError(f.t, err)
	return c.ID().String()
}

// looseWriter writes every object with git.
type looseWriter struct {
	objstoretest.Memory
	repo *repotest.Repo
}

func (w *looseWriter) Add(kind objstore.Kind, data []byte) objstore.ID {
	w.repo.GitInput(string(data), "hash-object", "-t", kind.String(), "-w", "--stdin")
	return w.Memory.Add(kind, data)
}

// attemptRow is the change that puts an attempt into the journal.
func attemptRow(id, state string) snapshot.Change {
	row := snapshot.EncodeAttempt(snapshot.Attempt{NodeID: id, Attempt: 1, State: state, StartedAtMs: 1})
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: row.Key, Value: row.Value}
}

func TestVerifyChecksWhatAnEntryMakesOfTheOneBefore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(forger)
		what   string
	}{
		{
			"an entry that is no frame and changes the state",
			func(f forger) {
				f.append("100644", "blob", f.Git("rev-parse", "refs/smithers/one/3:nodes"), "nodes", func(h *snapshot.Header) {
					h.ContentHash = f.contentHash(h.Tree)
				})
			},
			"an entry that is no frame changes the state",
		},
		{
			"an entry that is no frame and changes the rendered tree",
			func(f forger) {
				tree := `{"kind":"text","text":"x"}`
				f.append("100644", "blob", blob(f.Repo, fmt.Sprintf("full 0 %x\n%s\n", sha256.Sum256([]byte(tree)), tree)), "frame", nil)
			},
			"an entry that is no frame changes the rendered tree",
		},
		{
			"an attempt that is lost",
			func(f forger) { f.tree("journal", "refs/smithers/one/5:journal", nil) },
			`an entry removes the row "b::0::1"`,
		},
		{
			"an attempt that is none",
			func(f forger) {
				f.append("040000", "tree", f.journal("attempts", f.collection("a::0::1", "{}")), "journal", nil)
			},
			`attempt "a::0::1"`,
		},
		{
			"a log that is no text",
			func(f forger) {
				f.append("040000", "tree", f.journal("logs", f.collection("a::0::1", "7")), "journal", nil)
			},
			`logs: `,
		},
		{
			"an op that is none",
			func(f forger) {
				f.append("040000", "tree", f.journal("ops", f.collection("1", `{"kind":"dance"}`)), "journal", nil)
			},
			`ops: `,
		},
		{
			"an epoch that falls",
			func(f forger) { f.row(`"epoch":3`, `"epoch":2`) },
			"epoch 3 is followed by epoch 2",
		},
		{
			"an owner that is no claim",
			func(f forger) { f.row(`"epoch":3,`, `"epoch":3,"owner":"somebody",`) },
			"owner: not 16 lower-case hex digits",
		},
		{
			"an event that is left out",
			func(f forger) { f.counts(8) },
			"the next event has the number 8, expected 7",
		},
		{
			"an event whose number is given again",
			func(f forger) { f.counts(6) },
			"the next event has the number 6, expected 7",
		},
		{
			"a mailbox of nodes",
			func(f forger) {
				f.append("100644", "blob", f.Git("rev-parse", f.tip()+":nodes"), "approvals", nil)
			},
			"approvals: ",
		},
		{
			"a mailbox of something else",
			func(f forger) {
				f.append("100644", "blob", f.collection("ship::0", `{"status":"maybe"}`), "approvals", nil)
			},
			`approvals: `,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t)
			s := open(t, repo)
			head := triage(t, s, "one")
			for _, id := range []string{"a", "b"} {
				require.NoError(t, head.Append(t.Context(), snapshot.Draft{
					Frame: &snapshot.FrameDraft{}, Journal: []snapshot.Change{attemptRow(id, snapshot.AttemptFinished)},
					Run: func(row *snapshot.Run) { row.Epoch++ },
				}))
			}
			require.NoError(t, head.Append(t.Context(), snapshot.Draft{Run: func(row *snapshot.Run) { row.Epoch++ }}))
			require.Empty(t, problems(t, repo))

			c.damage(forger{repo, t, "one"})
			repo.Damaged()
			found := problems(t, repo)
			require.Len(t, found, 1, "%+v", found)
			assert.Equal(t, fault.CorruptObject, found[0].Code)
			assert.Contains(t, found[0].What, c.what)
			assert.Equal(t, repo.Git("rev-parse", "refs/smithers/_tip/one"), found[0].Commit)
		})
	}
}

func TestVerifyChecksWhereAForkBegins(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	triage(t, s, "one")
	_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "one:4", RunID: "child"})
	require.NoError(t, err)
	require.Empty(t, problems(t, repo))

	f := forger{repo, t, "child"}
	child := repo.Git("cat-file", "commit", f.tip()) + "\n"
	other := repo.GitInput(f.listing(f.tip()+"^{tree}", "100644", "blob", repo.Git("rev-parse", "refs/smithers/one/3:nodes"), "nodes"), "mktree")
	header, err := snapshot.DecodeHeader(f.object(f.tip()), []byte(child))
	require.NoError(t, err)
	header.Tree, err = objstore.ParseID(other)
	require.NoError(t, err)
	header.ContentHash = f.contentHash(header.Tree)
	repo.Git("update-ref", f.tip(), repo.GitInput(string(snapshot.EncodeHeader(header)), "hash-object", "-t", "commit", "-w", "--stdin"))
	repo.Damaged()
	found := problems(t, repo)
	require.Len(t, found, 1)
	assert.Contains(t, found[0].What, "an entry that is no frame changes the state")
}

// opRow is the change that puts an op into the journal.
func opRow(op snapshot.Op) snapshot.Change {
	row := snapshot.EncodeOp(op)
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionOps, Key: row.Key, Value: json.RawMessage(row.Value)}
}

func TestVerifyChecksOps(t *testing.T) {
	t.Parallel()
	travel := func(number int, before objstore.ID) snapshot.Op {
		return snapshot.Op{Number: number, Kind: snapshot.OpTravel, AtMs: 1, Before: before, NodeID: "a", Attempt: 1, Frame: new(int64(3)), To: new(int64(1))}
	}
	undo := func(number, undoes int, before objstore.ID) snapshot.Op {
		return snapshot.Op{Number: number, Kind: snapshot.OpUndo, AtMs: 1, Before: before, Frame: new(int64(4)), Undoes: undoes}
	}
	undone := func(op snapshot.Op, by int) snapshot.Op {
		op.UndoneBy = by
		return op
	}
	for _, c := range []struct {
		name string
		ops  func(before, foreign objstore.ID) [][]snapshot.Op // by entry
		what string
	}{
		{"a travel and its undo are sound", func(before, _ objstore.ID) [][]snapshot.Op {
			return [][]snapshot.Op{{travel(1, before)}, {undone(travel(1, before), 2), undo(2, 1, before)}}
		}, ""},
		{"a number that is left out", func(before, _ objstore.ID) [][]snapshot.Op {
			return [][]snapshot.Op{{travel(1, before)}, {travel(3, before)}}
		}, "but op 2 is missing"},
		{"an undo that its op does not know of", func(before, _ objstore.ID) [][]snapshot.Op {
			return [][]snapshot.Op{{travel(1, before)}, {undo(2, 1, before)}}
		}, "op 2 undoes op 1, but op 1 is not marked as undone by op 2"},
		{"an op undone by another that does not say so", func(before, _ objstore.ID) [][]snapshot.Op {
			return [][]snapshot.Op{{travel(1, before)}, {undone(travel(1, before), 2), travel(2, before)}}
		}, "op 1 is marked as undone by op 2, which does not undo it"},
		{"an op undone by one that is not there", func(before, _ objstore.ID) [][]snapshot.Op {
			return [][]snapshot.Op{{undone(travel(1, before), 5)}}
		}, "op 1 is marked as undone by op 5, which does not undo it"},
		{"an undo that is undone", func(before, _ objstore.ID) [][]snapshot.Op {
			return [][]snapshot.Op{{travel(1, before)}, {undone(travel(1, before), 2), undo(2, 1, before)}, {undone(undo(2, 1, before), 3), undo(3, 2, before)}}
		}, "op 3 undoes op 2, which is an undo"},
		{"an op that was made on what is not of the run", func(_, foreign objstore.ID) [][]snapshot.Op {
			return [][]snapshot.Op{{travel(1, foreign)}}
		}, "which is not an earlier entry"},
		{"an op that becomes another one", func(before, _ objstore.ID) [][]snapshot.Op {
			other := travel(1, before)
			other.NodeID = "b"
			return [][]snapshot.Op{{travel(1, before)}, {other}}
		}, "an entry changes op 1"},
		{"an op that names a frame which is not there", func(before, _ objstore.ID) [][]snapshot.Op {
			op := travel(1, before)
			op.Frame = new(int64(99))
			return [][]snapshot.Op{{op}}
		}, "frame 99, which does not exist yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t)
			s := open(t, repo)
			foreign := triage(t, s, "other").Entry().ID
			head := triage(t, s, "one")
			before := head.Entry().ID
			for _, ops := range c.ops(before, foreign) {
				var journal []snapshot.Change
				for _, op := range ops {
					journal = append(journal, opRow(op))
				}
				require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Journal: journal}))
			}
			found := problems(t, repo)
			if c.what == "" {
				require.Empty(t, found)
				return
			}
			repo.Damaged()
			require.Len(t, found, 1, "%+v", found)
			assert.Equal(t, fault.CorruptObject, found[0].Code)
			assert.Contains(t, found[0].What, c.what)
		})
	}
}

func TestVerifyRefusesARunThatBeginsWithOps(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	_, err := s.Create(t.Context(), snapshot.Run{ID: "one", Status: snapshot.RunRunning}, snapshot.Draft{
		Journal: []snapshot.Change{opRow(snapshot.Op{Number: 1, Kind: snapshot.OpFork, AtMs: 1})},
	})
	require.NoError(t, err)
	repo.Damaged()
	found := problems(t, repo)
	require.Len(t, found, 1)
	assert.Contains(t, found[0].What, "the run's first entry has op 1 of kind fork")
}
