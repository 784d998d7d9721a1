// An example agent: calls the first tool it is offered with what the task says in quotes, and reports the answer.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

var quoted = regexp.MustCompile(`["']([^"']+)["']`)
var samples = map[string]any{"integer": 1, "number": 1, "boolean": true, "array": []any{}, "object": map[string]any{}}

// fill gives the required properties the schema's own value, else the next quoted word of the task.
func fill(schema map[string]any, words []string) map[string]any {
	filled := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, item := range required {
		name, _ := item.(string)
		spec, _ := properties[name].(map[string]any)
		kind, _ := spec["type"].(string)
		if allowed, ok := spec["enum"].([]any); ok && len(allowed) > 0 {
			filled[name] = choose(allowed, words)
		} else if sample, ok := samples[kind]; ok {
			filled[name] = sample
		} else if len(words) > 0 {
			filled[name], words = words[0], words[1:]
		} else {
			filled[name] = "example"
		}
	}
	return filled
}

func choose(allowed []any, words []string) any {
	for _, word := range words {
		for _, value := range allowed {
			if value == word {
				return value
			}
		}
	}
	return allowed[0]
}

func agent(task *Task, tools *Tools) (any, error) {
	if len(tools.Specs) == 0 {
		return "You said: " + task.Input, nil
	}
	var words []string
	for _, match := range quoted.FindAllStringSubmatch(task.Input, -1) {
		words = append(words, match[1])
	}
	tool := tools.Specs[0]
	found, err := tools.Call(tool.Name, fill(tool.InputSchema, words))
	var failed *ToolError
	if errors.As(err, &failed) {
		return fmt.Sprintf("%s did not work: %s", tool.Name, failed.Reason), nil
	}
	if err != nil {
		return nil, err
	}
	text, isText := found.(string)
	if !isText {
		encoded, _ := json.Marshal(found)
		text = string(encoded)
	}
	return tool.Name + " says: " + text, nil
}

func main() {
	Run(About{Name: "example-go", Version: "1.0.0"}, agent)
}
