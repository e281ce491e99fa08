// Subgraphs: without a checkpointer of its own, a subgraph is run again as a whole; with one, its steps can be forked.
import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";

import { history, say, thread, withSaver } from "./scratch.mjs";

const State = Annotation.Root({ value: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
const asks = (result) => result.__interrupt__?.map((one) => one.value);

function build(saver, own) {
  const inner = new StateGraph(State)
    .addNode("stepA", () => ({ value: [`name:${interrupt("What is your name?")}`] }))
    .addNode("stepB", () => ({ value: [`age:${interrupt("How old are you?")}`] }))
    .addEdge(START, "stepA")
    .addEdge("stepA", "stepB")
    .compile(own ? { checkpointer: true } : {});
  return new StateGraph(State).addNode("subgraphNode", inner).addEdge(START, "subgraphNode").compile({ checkpointer: saver });
}

/** Prints the namespaces of a thread, without the ids of tasks, and the numbers of their checkpoints. */
async function printNamespaces(saver, config) {
  const count = new Map();
  for await (const { config: at } of saver.list(config)) {
    const ns = at.configurable.checkpoint_ns.replace(/:.*/, ":<task>");
    count.set(ns, (count.get(ns) ?? 0) + 1);
  }
  say("  checkpoints:", Object.fromEntries([...count].sort()));
}

await withSaver(async (saver) => {
  {
    const graph = build(saver, false);
    const config = thread("whole");
    say("asks", asks(await graph.invoke({ value: [] }, config)));
    say("asks", asks(await graph.invoke(new Command({ resume: "Alice" }), config)));
    say("ends", (await graph.invoke(new Command({ resume: "30" }), config)).value);
    await printNamespaces(saver, config);
    const before = (await history(graph, config)).find((state) => state.next[0] === "subgraphNode");
    const fork = await graph.updateState(before.config, { value: ["forked"] });
    say("fork asks", asks(await graph.invoke(null, fork)));
    const next = thread("whole");
    say("fork asks", asks(await graph.invoke(new Command({ resume: "Bob" }), next)));
    say("fork ends", (await graph.invoke(new Command({ resume: "40" }), next)).value);
    await printNamespaces(saver, config);
  }
  {
    const graph = build(saver, true);
    const config = thread("steps");
    await graph.invoke({ value: [] }, config);
    await graph.invoke(new Command({ resume: "Alice" }), config);
    await printNamespaces(saver, config);
    const inner = [];
    for await (const tuple of saver.list({ configurable: { thread_id: "steps", checkpoint_ns: "subgraphNode" } })) inner.push(tuple);
    const beforeB = inner.find((tuple) => Object.hasOwn(tuple.checkpoint.channel_values, "branch:to:stepB"));
    const fork = await graph.updateState(beforeB.config, { value: ["forked"] });
    const asked = await graph.invoke(null, fork);
    say("fork inside asks", asks(asked));
    say("fork inside ends", (await graph.invoke(new Command({ resume: "31" }), thread("steps"))).value);
  }
});
