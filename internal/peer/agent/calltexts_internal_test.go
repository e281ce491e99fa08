package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheFolderOfAnAgentIsReplaced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, folder, want string }{
		{`{"file_path":"/src/repo/a","cwd":"/src/repo"}`, "/src/repo", `{"file_path":"./a","cwd":"."}`},
		{`/src/repository/a`, "/src/repo", `/src/repository/a`},
		{`cd /src/repo && ls /src/repo`, "/src/repo", `cd . && ls .`},
		{`/a/b`, "/", `/a/b`},
		{`/a/b`, "", `/a/b`},
	} {
		assert.Equal(t, c.want, string(replaceFolder([]byte(c.text), c.folder)))
	}
}
