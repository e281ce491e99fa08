package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSmithersNoticesThatAModuleHasChanged has the real Smithers judge the hashes that an export writes: it resumes
// with them, and not after what the workflow imports has changed.
func TestSmithersNoticesThatAModuleHasChanged(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	require.NoError(t, os.Mkdir(filepath.Join(p.Dir, "parts"), 0o777))
	p.write("parts/index.ts", "import { comma } from \"./comma.js\";\nexport * from \"./words\";\nexport const line = (n: number) => `page ${n}${comma}`;\n")
	p.write("parts/comma.js", "export const comma = ', ';\n")
	p.write("parts/words.ts", "export type Word = string;\n")
	loop := strings.ReplaceAll(p.read("loop.tsx"), "`page ${number}, `", "line(number)")
	p.write("loop.tsx", "import { line, type Word } from './parts';\nimport type { Never } from './never';\n"+loop)

	p.smithers("up", "loop.tsx", "--run-id", "pages", "--input", `{"times":2}`).exits(0)
	p.ok("import", "smithers.db")
	assert.Contains(t, p.ok("export", "pages", "--to", "same.db", "--json"), `"exact":true,"resumes":true`)
	p.ok("fork", "pages:2", "--run-id", "one")
	p.ok("fork", "pages:2", "--run-id", "two")
	assert.Contains(t, p.ok("export", "one", "two", "--to", "smithers.db", "--json"), `"resumes":true`)
	p.smithers("up", "loop.tsx", "--run-id", "one", "--resume", "true").exits(0)

	p.write("parts/words.ts", "export type Word = number;\n")
	assert.Contains(t, p.ok("export", "pages", "--to", "changed.db", "--json"), `"resumes":false,"refusals":[{"code":"modules_hash"`)
	engine := p.smithers("up", "loop.tsx", "--run-id", "two", "--resume", "true")
	engine.exits(1)
	assert.Contains(t, engine.err.String()+engine.out.String(), "RESUME_METADATA_MISMATCH")
	p.smithers("up", "loop.tsx", "--run-id", "two", "--resume", "true", "--accept-workflow-change").exits(0)
}
