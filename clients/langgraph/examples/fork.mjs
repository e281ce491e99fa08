// Fork: go on from a checkpoint with another state. Both branches stay readable, and so do several forks of one checkpoint.
import { jokes } from "./jokes.mjs";
import { history, printTree, say, thread, withSaver } from "./scratch.mjs";

await withSaver(async (saver) => {
  const { graph, called } = jokes(saver);
  const config = thread("fork");
  await graph.invoke({}, config);
  const beforeJoke = (await history(graph, config)).find((state) => state.next[0] === "writeJoke");
  called.splice(0);

  const forks = [];
  for (const topic of ["chickens", "ducks"]) {
    const fork = await graph.updateState(beforeJoke.config, { topic });
    const state = await graph.getState(fork);
    say(topic, "is", state.metadata.source, "next", state.next, state.values);
    forks.push(fork);
  }
  for (const fork of forks) say(await graph.invoke(null, fork), called.splice(0));
  for (const fork of forks) say("the fork's state is still", (await graph.getState(fork)).values);
  say("the original is still", (await graph.getState(beforeJoke.config)).values);
  await printTree(graph, config);
});
