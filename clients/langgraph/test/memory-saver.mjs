// Our saver under the name of LangGraph's: each is for a repository of its own, which is checked at the end.
export * from "@langchain/langgraph-checkpoint";

import { GitSmithersSaver } from "../dist/esm/index.js";
import { BINARY, ENV, drop, makeRepository } from "./repository.mjs";

const open = [];

export class MemorySaver extends GitSmithersSaver {
  constructor() {
    const repository = makeRepository();
    super({ repository, binary: BINARY, env: ENV });
    open.push({ saver: this, repository });
  }
}

afterEach(async () => {
  for (const { saver, repository } of open.splice(0)) {
    await saver.close();
    drop(repository);
  }
});
