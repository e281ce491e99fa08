// Every example prints what was recorded, under Node and, if it is there, under Bun. RECORD=1 records.
import { execFile } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { promisify } from "node:util";

import { BINARY, ENV } from "./repository.mjs";

const folder = path.resolve(import.meta.dirname, "../examples");
const helpers = ["scratch.mjs", "jokes.mjs"];
const examples = readdirSync(folder).filter((name) => name.endsWith(".mjs") && !helpers.includes(name));
const runtimes = [["node", process.env.NODE ?? process.execPath]];
if (process.env.BUN) runtimes.push(["bun", process.env.BUN]);

describe.each(runtimes)("under %s", (_, command) => {
  it.concurrent.each(examples)("%s", async (name) => {
    const env = { ...ENV, GIT_SMITHERS: BINARY, NO_COLOR: "1" };
    const { stdout } = await promisify(execFile)(command, [path.join(folder, name)], { env });
    const outcome = path.join(folder, "outcomes", name.replace(".mjs", ".txt"));
    if (process.env.RECORD) writeFileSync(outcome, stdout);
    expect(existsSync(outcome) ? readFileSync(outcome, "utf8") : "").toBe(stdout);
  });
});
