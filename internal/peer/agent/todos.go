package agent

import (
	"cmp"
	"encoding/json"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Todo is an item of an agent's list of todos.
type Todo struct {
	Content string `json:"content"`
	Done    bool   `json:"done"`
	Active  bool   `json:"active"` // the agent works on it
}

// parseTodos returns the items of a list of todos as an agent has set it. It knows the members that agents use, and leaves out items
// without words.
func parseTodos(list []byte) []Todo {
	var items []struct {
		Content   string `json:"content"`
		Step      string `json:"step"`
		Text      string `json:"text"`
		Title     string `json:"title"`
		Status    string `json:"status"`
		Completed bool   `json:"completed"`
		Done      bool   `json:"done"`
	}
	if json.Unmarshal(list, &items) != nil {
		return nil
	}
	var todos []Todo
	for _, item := range items {
		todo := Todo{
			Content: cmp.Or(item.Content, item.Step, item.Text, item.Title),
			Done:    item.Completed || item.Done || item.Status == "completed" || item.Status == "done",
			Active:  item.Status == "in_progress" || item.Status == "in-progress",
		}
		if todo.Content != "" {
			todos = append(todos, todo)
		}
	}
	return todos
}

// todosOf returns the list of todos that a turn has set, and whether the turn has set one.
func todosOf(state *snapshot.State, turn int) (todos []Todo, found bool, err error) {
	value, found, err := state.Outputs(todosTable).Get(snapshot.Key(turnNode, turn))
	return parseTodos(value), found, timeline.Explain(err)
}

// newestTodos returns the list of todos that the turn, or the newest turn before it, has set.
func newestTodos(state *snapshot.State, turn int) ([]Todo, error) {
	for ; turn > 0 && state.Outputs(todosTable).Len() > 0; turn-- {
		if todos, found, err := todosOf(state, turn); err != nil || found {
			return todos, err
		}
	}
	return nil, nil
}
