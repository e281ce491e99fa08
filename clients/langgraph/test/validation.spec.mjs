// LangGraph's own suite for savers, under a name for which it skips nothing.
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";

import { drop, makeRepository, open } from "./repository.mjs";

const repositories = new Map();

const initializer = {
  checkpointerName: "GitSmithersSaver",
  createCheckpointer() {
    const dir = makeRepository();
    const saver = open(dir);
    repositories.set(saver, dir);
    return saver;
  },
  async destroyCheckpointer(saver) {
    await saver.close();
    drop(repositories.get(saver));
    repositories.delete(saver);
  },
};

validate(initializer);
deltaChannelHistoryTests(initializer);
