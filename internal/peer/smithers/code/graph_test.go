package code

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// project writes source files and returns their folder.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, source := range files {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, []byte(source), 0o666))
	}
	return dir
}

func TestTheGraphIsAllModulesByTheirPathsAndContents(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"flow.tsx":          "import {a} from './parts'\nimport type {T} from './types'\nimport z from 'zod'\n",
		"parts/index.ts":    `import "./a.js"; export * from "../words"; import "../flow"`,
		"parts/a.js":        "export const a = 1",
		"words.mts":         "",
		"words.js":          "is not taken: another extension goes before it",
		"unknown/index.tsx": "",
	}
	dir := project(t, files)
	var entries []string
	for _, name := range []string{"flow.tsx", "parts/a.js", "parts/index.ts", "words.mts"} {
		entries = append(entries, filepath.Join(dir, name)+":"+Sum(files[name]))
	}
	hash, known := GraphHash(filepath.Join(dir, "flow.tsx"))
	assert.True(t, known)
	assert.Equal(t, Sum(strings.Join(entries, "|")), hash)
}

func TestThereIsNoGraphWhereAModuleIsMissing(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"flow.tsx": `import "./a"`, "a.ts": `import "./folder"`, "folder/a.ts": ""})
	hash, known := GraphHash(filepath.Join(dir, "flow.tsx"))
	assert.True(t, known)
	assert.Empty(t, hash)
}

func TestTheGraphIsUnknownWhereAModuleIsUnclear(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"its imports":  `const a = await import("./b")`,
		"its encoding": "\xff",
		"its mark":     "\ufeffexport {}",
	} {
		dir := project(t, map[string]string{"flow.tsx": `import "./a"`, "a.ts": source})
		_, known := GraphHash(filepath.Join(dir, "flow.tsx"))
		assert.False(t, known, name)
	}
}
