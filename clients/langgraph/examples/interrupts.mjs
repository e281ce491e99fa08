// Interrupts: a replay asks again, and a fork asks with its own state.
import { Annotation, Command, END, START, StateGraph, interrupt } from "@langchain/langgraph";

import { history, printTree, say, thread, withSaver } from "./scratch.mjs";

const State = Annotation.Root({ value: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
const asks = (result) => result.__interrupt__?.map((one) => one.value);

await withSaver(async (saver) => {
  const graph = new StateGraph(State)
    .addNode("askHuman", () => ({ value: [`Hello, ${interrupt("What is your name?")}!`] }))
    .addNode("finalStep", () => ({ value: ["Done"] }))
    .addEdge(START, "askHuman")
    .addEdge("askHuman", "finalStep")
    .addEdge("finalStep", END)
    .compile({ checkpointer: saver });
  const config = thread("interrupts");
  say("first:", asks(await graph.invoke({ value: [] }, config)));
  say("resumed:", (await graph.invoke(new Command({ resume: "Alice" }), config)).value);

  const beforeAsk = (await history(graph, config)).filter((state) => state.next[0] === "askHuman").at(-1);
  say("replay:", asks(await graph.invoke(null, beforeAsk.config)));

  const fork = await graph.updateState(beforeAsk.config, { value: ["forked"] });
  const paused = await graph.invoke(null, fork);
  say("fork:", paused.value, asks(paused));
  say("fork resumed:", (await graph.invoke(new Command({ resume: "Bob" }), fork)).value);
  await printTree(graph, config);

  // Two questions, and a fork between them: the first one is not asked again.
  const called = [];
  const two = new StateGraph(State)
    .addNode("askName", () => {
      called.push("askName");
      return { value: [`name:${interrupt("What is your name?")}`] };
    })
    .addNode("askAge", () => {
      called.push("askAge");
      return { value: [`age:${interrupt("How old are you?")}`] };
    })
    .addNode("final", () => ({ value: ["Done"] }))
    .addEdge(START, "askName")
    .addEdge("askName", "askAge")
    .addEdge("askAge", "final")
    .compile({ checkpointer: saver });
  const both = thread("two-questions");
  await two.invoke({ value: [] }, both);
  await two.invoke(new Command({ resume: "Alice" }), both);
  await two.invoke(new Command({ resume: "30" }), both);
  const between = (await history(two, both)).find((state) => state.next[0] === "askAge");
  const other = await two.updateState(between.config, { value: ["modified"] });
  called.splice(0);
  const asked = await two.invoke(null, other);
  say("fork between:", asked.value, asks(asked), called.splice(0));
  say("resumed:", (await two.invoke(new Command({ resume: "31" }), other)).value);
});
