// Every example prints what was recorded, under Node and, if it is there, under Bun. Where a version of LangGraph prints something else,
// its outcome is in a folder of its own. RECORD=1 records, and RECORD=version records what is the version's own.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { promisify } from "node:util";

import { BINARY, ENV } from "./repository.mjs";

const folder = path.resolve(import.meta.dirname, "../examples");
const helpers = ["scratch.mjs", "jokes.mjs"];
const { version } = JSON.parse(readFileSync(path.resolve(import.meta.dirname, "../node_modules/@langchain/langgraph/package.json"), "utf8"));
const examples = readdirSync(folder).filter((name) => name.endsWith(".mjs") && !helpers.includes(name));
const runtimes = [["node", process.env.NODE ?? process.execPath]];
if (process.env.BUN) runtimes.push(["bun", process.env.BUN]);

describe.each(runtimes)("under %s", (_, command) => {
  it.concurrent.each(examples)("%s", async (name) => {
    const env = { ...ENV, GIT_SMITHERS: BINARY, NO_COLOR: "1" };
    const { stdout } = await promisify(execFile)(command, [path.join(folder, name)], { env });
    const all = path.join(folder, "outcomes", name.replace(".mjs", ".txt"));
    const own = path.join(folder, "outcomes", version, name.replace(".mjs", ".txt"));
    const read = (file) => (existsSync(file) ? readFileSync(file, "utf8") : undefined);
    if (process.env.RECORD && stdout !== read(all)) {
      mkdirSync(path.dirname(own), { recursive: true });
      writeFileSync(process.env.RECORD === "version" ? own : all, stdout);
    }
    expect(stdout).toBe(read(own) ?? read(all));
  });
});
