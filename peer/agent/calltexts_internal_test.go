package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheFolderOfAnAgentIsReplaced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, folder, want string }{
		{`{"file_path":"/work/repo/a","cwd":"/work/repo"}`, "/work/repo", `{"file_path":"./a","cwd":"."}`},
		{`/work/repository/a`, "/work/repo", `/work/repository/a`},
		{`cd /work/repo && ls /work/repo`, "/work/repo", `cd . && ls .`},
		{`/a/b`, "/", `/a/b`},
		{`/a/b`, "", `/a/b`},
	} {
		assert.Equal(t, c.want, string(replaceFolder([]byte(c.text), c.folder)))
	}
}
