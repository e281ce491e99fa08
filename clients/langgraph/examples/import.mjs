// Moving here from another saver: importThreads works with any saver that lists its checkpoints.
import { MemorySaver } from "@langchain/langgraph";

import { jokes } from "./jokes.mjs";
import { printTree, say, thread, withSaver } from "./scratch.mjs";

await withSaver(async (saver) => {
  const memory = new MemorySaver();
  for (const id of ["one", "two"]) await jokes(memory).graph.invoke({}, thread(id));

  let steps = 0;
  const imported = await saver.importThreads(memory, { onProgress: () => steps++ });
  say("imported", imported, "checkpoints in", steps, "steps");
  say("imported again:", await saver.importThreads(memory));
  await printTree(jokes(saver).graph, thread("one"));
});
