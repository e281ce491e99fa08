package code

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What Bun 1.4.5, which Smithers 0.32.0 asks, says of these sources.
func TestModulesOfASourceAreThoseThatBunNames(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]string{
		`import "./a"`:   {"./a"},
		`import"./a"`:    {"./a"},
		`import " ./a "`: {"./a"},
		"/** @jsxImportSource ./no */\n// import \"./no\"\nimport a from './a'\nimport {b} from \"../b.js\";": {"./a", "../b.js"},
		`"use strict"; import a, {b as c, type D} from "./a"; import * as e from "."`:                         {"./a", "."},
		"import {\n  a,\n  type B,\n} from './a'":                                                             {"./a"},
		`import a from "./a" with {type: "json"}; import "./b"`:                                               {"./a", "./b"},
		`import type from "./a"`:                                 {"./a"},
		`import {} from "./a"; export {} from "./b"`:             {"./a", "./b"},
		`export * from "./a"; export {b} from "./b"`:             {"./a", "./b"},
		`export * as a from "./a"; export * from "b"`:            {"./a"},
		`import type A from "./a"`:                               nil,
		`import type {A} from "./a"; export type * from "./b"`:   nil,
		`import {type A, type B as C} from "./a"`:                nil,
		`import type * as a from "./a"`:                          nil,
		`export type {A} from "./a"; export {type B} from "./b"`: nil,
		`import {z} from "zod"; const there = "./a"`:             nil,
		`const a = "x".trim(); await import("b")`:                nil,
		`new URL("a", import.meta.url), "./a"`:                   nil,
	} {
		got, ok := importsOf("w.tsx", source)
		assert.True(t, ok, source)
		assert.Equal(t, want, got, source)
	}
}

func TestWhereModulesCannotBeToldForCertainNothingIsSaid(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		`await import("./a")`,
		"await import(`./a`)",
		`import a = require("./a")`,
		`require("./a")`,
		`import "\x2e/a"`,
		`import {/* why */ a} from "./a"`,
		`import {type as} from "./a"`,
		`import defer * as a from "./a"`,
		`let a: import("./a").A`,
		`export const a = 1; export * from "./a"`,
		"const text = `\nimport \"./a\"\n`",
	} {
		_, ok := importsOf("w.tsx", source)
		assert.False(t, ok, source)
	}
	for name, source := range map[string]string{
		"a.js":   "// import \"./a\"\nexport default <a/>", // Bun cannot parse it, and Smithers reads it by patterns then
		"b.mjs":  `import type {A} from "./a"`,
		"c.mdx":  `import A from "./a"`,
		"d.json": `{"import": "./a"}`,
		"e.ts":   "#!/usr/bin/env bun\nimport \"./a\"",
	} {
		_, ok := importsOf(name, source)
		assert.False(t, ok, name)
	}
	got, ok := importsOf("f.json", `{"a": "./a"}`)
	assert.True(t, ok)
	assert.Empty(t, got)
}
