// Replay: run again from a checkpoint. What came before is not called again, and the first end stays.
import { jokes } from "./jokes.mjs";
import { history, printTree, say, thread, withSaver } from "./scratch.mjs";

await withSaver(async (saver) => {
  const { graph, called } = jokes(saver);
  const config = thread("replay");
  say("first run:", await graph.invoke({}, config), called.splice(0));

  const states = await history(graph, config);
  const beforeJoke = states.find((state) => state.next[0] === "writeJoke");
  say("replay before the joke:", await graph.invoke(null, beforeJoke.config), called.splice(0));

  const end = (await graph.getState(config)).config;
  const before = (await history(graph, config)).length;
  say("replay of the end:", await graph.invoke(null, end), called.splice(0));
  say("checkpoints before and after:", before, (await history(graph, config)).length);

  say("replay from the input:", await graph.invoke(null, states[0].config), called.splice(0));
  await printTree(graph, config);
});
