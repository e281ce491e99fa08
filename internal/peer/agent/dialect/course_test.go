package dialect

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAFolderIsReplacedWhole(t *testing.T) {
	t.Parallel()
	c := Course{Sessions: []string{"old"}, Session: "new", Folder: "/work/repo", Dir: "/work/$1"}
	for before, after := range map[string]string{
		`{"cwd":"/work/repo"}`:                `{"cwd":"/work/$1"}`,
		`{"a":"/work/repo/x and /work/repo"}`: `{"a":"/work/$1/x and /work/$1"}`,
		`{"a":"/work/repository"}`:            `{"a":"/work/repository"}`,
		`{"a":"/work/repo-2 /work/repo.git"}`: `{"a":"/work/repo-2 /work/repo.git"}`,
		`{"a":"in /work/repo."}`:              `{"a":"in /work/$1."}`,
		`{"a":"/home/work/repo"}`:             `{"a":"/home/work/repo"}`,
		`{"a":"file:///work/repo/x"}`:         `{"a":"file:///work/$1/x"}`,
		`{"a":"http:///work/repo/x"}`:         `{"a":"http:///work/repo/x"}`,
		`{"a":"in\n/work/repo\n"}`:            `{"a":"in\n/work/$1\n"}`,
		`{"a":"/work/repo /work/repo"}`:       `{"a":"/work/$1 /work/$1"}`,
		`{"sessionId":"old"}`:                 `{"sessionId":"new"}`,
	} {
		assert.Equal(t, after, c.rewrite([]byte(before)), before)
	}
}

func TestAllFoldersAreReplaced(t *testing.T) {
	t.Parallel()
	c := Course{Folder: "/work/repo", Earlier: []string{"/work/repo/below", "/work/other"}, Dir: "/work/repo/new"}
	assert.JSONEq(t, `{"a":"/work/repo/new/x /work/repo/new/y /work/repo/new /work/others"}`,
		c.rewrite([]byte(`{"a":"/work/repo/x /work/repo/below/y /work/other /work/others"}`)))
}
