package agent

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAFolderIsReplacedWhole(t *testing.T) {
	t.Parallel()
	w := rewriting{sessions: []string{"old"}, session: "new", folder: "/work/repo", newDir: "/work/$1"}
	for before, after := range map[string]string{
		`{"cwd":"/work/repo"}`:                `{"cwd":"/work/$1"}`,
		`{"a":"/work/repo/x and /work/repo"}`: `{"a":"/work/$1/x and /work/$1"}`,
		`{"a":"/work/repository"}`:            `{"a":"/work/repository"}`,
		`{"a":"/work/repo-2 /work/repo.git"}`: `{"a":"/work/repo-2 /work/repo.git"}`,
		`{"a":"in /work/repo."}`:              `{"a":"in /work/$1."}`,
		`{"a":"/home/work/repo"}`:             `{"a":"/home/work/repo"}`,
		`{"a":"file:///work/repo/x"}`:         `{"a":"file:///work/repo/x"}`,
		`{"sessionId":"old"}`:                 `{"sessionId":"new"}`,
	} {
		assert.Equal(t, after+"\n", string(w.lines([]line{{text: []byte(before)}})), before)
	}
}

func TestACutEndsWithTheResultsOfItsFrame(t *testing.T) {
	t.Parallel()
	begin := func(ids ...string) line {
		l := line{lineFacts: lineFacts{answers: true}}
		for _, id := range ids {
			l.begun = append(l.begun, Call{ID: id, Tool: "Bash"})
		}
		return l
	}
	end := func(id string) line { return line{lineFacts: lineFacts{answers: true, ended: []result{{id: id}}}} }
	said := line{}
	told := line{lineFacts: lineFacts{answers: true}}
	for _, c := range []struct {
		what   string
		lines  []line
		before int
		ids    string
		kept   int
	}{
		{"a batch", []line{said, begin("a"), end("a"), begin("b"), end("b")}, 3, "a", 3},
		{"a late result", []line{said, begin("a"), end("a"), begin("b"), end("b")}, 2, "a", 3},
		{"parallel calls", []line{said, begin("a"), begin("b"), end("a"), end("b"), told}, 3, "a b", 5},
		{"a result that never comes", []line{said, begin("a"), end("a"), begin("b"), end("c")}, 4, "b", 3},
		{"half of a parallel batch", []line{said, begin("a"), begin("b"), end("a")}, 4, "a b", 1},
		{"a prompt", []line{said, told, said}, 3, "turn:2", 2},
		{"a prompt that is not there yet", []line{said, told}, 2, "turn:2", 2},
		{"the first prompt", []line{said}, 1, "turn:1", 0},
		{"the end of a turn", []line{said, told}, 2, "", 2},
	} {
		assert.Len(t, cut(c.lines, c.before, strings.Fields(c.ids)), c.kept, c.what)
	}
}

func TestAMemoryThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for text, message := range map[string]string{
		`{`: "unexpected end",
		`{"version":2,"sessions":["a"],"transcripts":["a"]}`: "a newer git-smithers keeps this session",
		`{"version":1}`: "names no session",
		`{"version":1,"sessions":[""],"transcripts":["a"]}`:            "is not the id of a session",
		`{"version":1,"sessions":["../../x"],"transcripts":["a"]}`:     "is not the id of a session",
		`{"version":1,"sessions":["a","b c"],"transcripts":["a","b"]}`: "is not the id of a session",
	} {
		_, err := parseMemory([]byte(text))
		assert.ErrorContains(t, err, message, text)
	}
	m := newMemory(Claude, "a")
	m.enter("b", 7)
	ext, err := m.draft()
	require.NoError(t, err)
	got, err := parseMemory(ext.Files[memoryName])
	require.NoError(t, err)
	assert.Equal(t, m, got)
}
