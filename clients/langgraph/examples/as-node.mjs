// Fork as if a node had written the state: what comes after that node comes next.
import { Annotation, START, StateGraph } from "@langchain/langgraph";

import { jokes } from "./jokes.mjs";
import { history, printTree, say, thread, withSaver } from "./scratch.mjs";

await withSaver(async (saver) => {
  const { graph, called } = jokes(saver);
  const config = thread("as-node");
  await graph.invoke({}, config);
  const beforeJoke = (await history(graph, config)).find((state) => state.next[0] === "writeJoke");
  called.splice(0);
  for (const [node, values] of [
    ["generateTopic", { topic: "chickens" }],
    ["writeJoke", { joke: "handwritten" }],
    ["__start__", { topic: "again" }],
  ]) {
    const fork = await graph.updateState(beforeJoke.config, values, node);
    const { next } = await graph.getState(fork);
    say(`as ${node}: next`, next, await graph.invoke(null, fork), called.splice(0));
  }
  const copy = await graph.updateState(beforeJoke.config, null, "__copy__");
  say("as __copy__: next", (await graph.getState(copy)).next, (await graph.getState(copy)).values);
  await printTree(graph, config);

  // A thread that has not begun.
  const fresh = thread("fresh");
  await graph.updateState(fresh, { topic: "cats" }, "generateTopic");
  say("fresh: next", (await graph.getState(fresh)).next, await graph.invoke(null, fresh), called.splice(0));
  const plain = thread("fresh without a node");
  await graph.updateState(plain, { topic: "cats" });
  say("fresh without a node: next", (await graph.getState(plain)).next);

  // Two branches side by side: LangGraph asks which one has written.
  const Both = Annotation.Root({ log: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
  const parallel = new StateGraph(Both)
    .addNode("a", () => ({ log: ["a"] }))
    .addNode("b", () => ({ log: ["b"] }))
    .addNode("c", () => ({ log: ["c"] }))
    .addEdge(START, "a")
    .addEdge(START, "b")
    .addEdge(["a", "b"], "c")
    .compile({ checkpointer: saver });
  const branches = thread("parallel");
  await parallel.invoke({ log: [] }, branches);
  const beforeC = (await history(parallel, branches)).find((state) => state.next[0] === "c");
  await parallel.updateState(beforeC.config, { log: ["x"] }).catch((error) => say("parallel:", error.name, error.message.split("\n")[0]));
  const asA = await parallel.updateState(beforeC.config, { log: ["x"] }, "a");
  say("parallel as a: next", (await parallel.getState(asA)).next);
});
