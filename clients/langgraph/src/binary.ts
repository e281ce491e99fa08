import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";

import { here } from "./here.js";

/**
 * Returns the command that starts git-smithers: what the caller names, the variable GIT_SMITHERS, the optional package with
 * the binary for this platform, or `git-smithers` from PATH.
 */
export function findBinary(named: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  return named ?? (env.GIT_SMITHERS || undefined) ?? packaged() ?? "git-smithers";
}

/** Returns the path of a command as a shell finds it, or its name if it is nowhere. */
export function locate(command: string, { PATH }: NodeJS.ProcessEnv = process.env): string {
  if (path.basename(command) !== command) return path.resolve(command);
  return (PATH ?? "").split(path.delimiter).map((folder) => path.join(folder, command)).find((file) => existsSync(file)) ?? command;
}

/**
 * Returns the path of the binary in the package for this platform, or undefined if it is not installed. The package is looked for
 * beside the program that runs, then beside this one, where pnpm has it.
 */
function packaged(): string | undefined {
  const name = process.platform === "win32" ? "git-smithers.exe" : "git-smithers";
  for (const from of [path.resolve(process.argv[1] ?? "index.js"), here]) {
    try {
      return createRequire(from).resolve(`@git-smithers/bin-${process.platform}-${process.arch}/${name}`);
    } catch {
      // the next place
    }
  }
  return undefined;
}
