// Runs LangGraph's own tests of time travel, from the checkout that the variable LANGGRAPHJS names, with our saver in the
// place of its MemorySaver and the installed LangGraph in the place of its sources.
import * as path from "node:path";

import { defineConfig } from "vitest/config";

const tests = path.resolve(process.env.LANGGRAPHJS ?? "", "libs/langgraph-core/src/tests");
const installed = path.resolve(import.meta.dirname, "node_modules/@langchain/langgraph/dist");
const saver = path.resolve(import.meta.dirname, "test/memory-saver.mjs");

const upstream = {
  name: "upstream",
  enforce: "pre",
  resolveId(source, importer) {
    if (!importer?.startsWith(tests)) return undefined;
    if (source === "@langchain/langgraph-checkpoint") return saver;
    const target = path.resolve(path.dirname(importer), source);
    if (source.startsWith(".") && !target.startsWith(tests)) return path.join(installed, path.relative(path.dirname(tests), target));
    if (!source.startsWith(".")) return this.resolve(source, path.join(import.meta.dirname, "index.js"), { skipSelf: true });
    return undefined;
  },
};

export default defineConfig({
  plugins: [upstream],
  test: {
    globals: true,
    root: path.resolve(process.env.LANGGRAPHJS ?? "."),
    include: ["libs/langgraph-core/src/tests/time_travel*.test.ts"],
    setupFiles: [path.join(tests, "matchers/setup.ts")],
    testTimeout: 60_000,
  },
  server: { fs: { strict: false } },
});
