import { createRequire } from "node:module";
import * as path from "node:path";

/**
 * Returns the command that starts git-smithers: what the caller names, the variable GIT_SMITHERS, the optional package with
 * the binary for this platform, or `git-smithers` from PATH.
 */
export function findBinary(named: string | undefined, env: NodeJS.ProcessEnv = process.env): string {
  return named ?? (env.GIT_SMITHERS || undefined) ?? packaged() ?? "git-smithers";
}

/** Returns the path of the binary in the package for this platform, or undefined if it is not installed. */
function packaged(): string | undefined {
  const name = process.platform === "win32" ? "git-smithers.exe" : "git-smithers";
  try {
    const require = createRequire(path.resolve(process.argv[1] ?? "index.js")); // beside the program that runs
    return require.resolve(`@git-smithers/bin-${process.platform}-${process.arch}/${name}`);
  } catch {
    return undefined;
  }
}
