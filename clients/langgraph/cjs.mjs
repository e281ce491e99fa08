// Says to Node that the files in dist/cjs are CommonJS, although the package is a module, and writes the file that has to differ.
import { writeFileSync } from "node:fs";

writeFileSync(new URL("dist/cjs/package.json", import.meta.url), '{"type":"commonjs"}\n');
writeFileSync(new URL("dist/cjs/here.js", import.meta.url), '"use strict";\nexports.here = __filename;\n');
