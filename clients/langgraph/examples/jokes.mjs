// The graph of LangGraph's page about time travel: a topic, then a joke about it. It needs no model.
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";

export const State = Annotation.Root({ topic: Annotation(), joke: Annotation() });

/** Returns the graph, and the names of the nodes that were called. */
export function jokes(checkpointer) {
  const called = [];
  let count = 0;
  const graph = new StateGraph(State)
    .addNode("generateTopic", () => {
      called.push("generateTopic");
      return { topic: "socks in the dryer" };
    })
    .addNode("writeJoke", ({ topic }) => {
      called.push("writeJoke");
      return { joke: `joke ${++count}: why do ${topic} disappear?` };
    })
    .addEdge(START, "generateTopic")
    .addEdge("generateTopic", "writeJoke")
    .addEdge("writeJoke", END)
    .compile({ checkpointer });
  return { graph, called };
}
