// The history of a thread: with a limit, before a checkpoint, by metadata, by id; and what is not there.
import { jokes } from "./jokes.mjs";
import { history, say, thread, withSaver } from "./scratch.mjs";

await withSaver(async (saver) => {
  const { graph } = jokes(saver);
  const config = thread("history");
  await graph.invoke({}, config);
  const states = await history(graph, config);
  const newest = async (options) => {
    const found = [];
    for await (const state of graph.getStateHistory(config, options)) found.push(`step ${state.metadata.step}`);
    return found;
  };
  say("all:", await newest());
  say("limit 2:", await newest({ limit: 2 }));
  say("before step 1:", await newest({ before: states.find((state) => state.metadata.step === 1).config }));
  say("only loops:", await newest({ filter: { source: "loop" } }));
  say("by id:", (await graph.getState(states[1].config)).values, (await graph.getState(states[1].config)).next);
  const unknown = { configurable: { ...config.configurable, checkpoint_id: "1f000000-0000-6000-8000-000000000000" } };
  say("unknown id:", (await graph.getState(unknown)).values);
  say("unknown thread:", (await graph.getState(thread("nobody"))).values);
});
