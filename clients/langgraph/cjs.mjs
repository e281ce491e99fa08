// Says to Node that the files in dist/cjs are CommonJS, although the package is a module.
import { writeFileSync } from "node:fs";

writeFileSync(new URL("dist/cjs/package.json", import.meta.url), '{"type":"commonjs"}\n');
