// An MCP server with the task's tools: over HTTP at /mcp, and on stdin and stdout for clients that start their servers.

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
)

var mcpVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

type rpcMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

func (c *channel) mcp(w http.ResponseWriter, r *http.Request, body []byte) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		reply(w, 405, worded("", 405, "only POST is served here"))
		return nil
	}
	if version := r.Header.Get("Mcp-Protocol-Version"); version != "" && negotiated(version) != version {
		return refused{400, "MCP-Protocol-Version is one of " + strings.Join(mcpVersions, ", ")}
	}
	clean, err := cleaned(body)
	if err != nil {
		reply(w, 400, failed(nil, -32700, "not JSON: "+err.Error()))
		return nil
	}
	var batch []json.RawMessage
	if json.Unmarshal(clean, &batch) != nil || batch == nil {
		if answer := c.rpc(clean); answer != nil {
			reply(w, 200, answer)
		} else {
			w.WriteHeader(202)
		}
		return nil
	}
	answers := []object{}
	for _, part := range batch {
		if answer := c.rpc(part); answer != nil {
			answers = append(answers, answer)
		}
	}
	if len(answers) == 0 {
		w.WriteHeader(202)
	} else {
		reply(w, 200, answers)
	}
	return nil
}

// rpc is the answer to one JSON-RPC message; nil where none is due.
func (c *channel) rpc(data []byte) object {
	var m rpcMessage
	if json.Unmarshal(data, &m) != nil || m.Version != "2.0" {
		return failed(nil, -32600, "not a JSON-RPC 2.0 message")
	}
	if !given(m.ID) || m.Method == "" {
		return nil // a notification, or an answer to something never asked
	}
	var result any
	switch m.Method {
	case "initialize":
		var asked struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(m.Params, &asked)
		result = object{
			"protocolVersion": negotiated(asked.ProtocolVersion),
			"capabilities":    object{"tools": object{"listChanged": false}},
			"serverInfo":      object{"name": "tools", "version": "1.0"},
		}
	case "ping":
		result = object{}
	case "tools/list":
		tools, begun := c.tools()
		if !begun {
			return failed(m.ID, -32603, "no task has begun: there are no tools yet")
		}
		listed := []object{}
		for _, tool := range tools {
			listed = append(listed, object{
				"name": tool.Name, "description": tool.Description, "inputSchema": tool.InputSchema,
			})
		}
		result = object{"tools": listed}
	case "tools/call":
		var call struct {
			Name      string                     `json:"name"`
			Arguments map[string]json.RawMessage `json:"arguments"`
		}
		if json.Unmarshal(m.Params, &call) != nil || call.Name == "" || len(call.Name) > 200 {
			return failed(m.ID, -32602, "tools/call takes a `name` and `arguments`, an object")
		}
		if call.Arguments == nil {
			call.Arguments = map[string]json.RawMessage{}
		}
		result = c.call(call.Name, call.Arguments)
	default:
		return failed(m.ID, -32601, fmt.Sprintf("no such method: %.200s", m.Method))
	}
	return object{"jsonrpc": "2.0", "id": m.ID, "result": result}
}

// call is the result of a tool; one that failed or was denied is `isError`, with the reason.
func (c *channel) call(name string, arguments any) object {
	m, err := c.answered(object{"type": "tool_call", "name": name, "arguments": arguments})
	if err != nil {
		return object{"content": []object{text(err.Error())}, "isError": true}
	}
	bad := string(m.Status) != `"ok"`
	content := []object{}
	if bad && m.Reason != "" {
		content = append(content, text(m.Reason))
	}
	if !bad || given(m.Content) {
		content = append(content, text(plain(orNull(m.Content))))
	}
	result := object{"content": content, "isError": bad}
	if bytes.HasPrefix(m.Content, []byte("{")) {
		result["structuredContent"] = m.Content
	}
	return result
}

func (c *channel) answered(call object) (*message, error) {
	box, err := c.ask(call)
	if err != nil {
		return nil, err
	}
	return box.next()
}

func text(said string) object { return object{"type": "text", "text": said} }

// plain is a JSON string as its text, anything else as JSON.
func plain(value json.RawMessage) string {
	var said string
	if value[0] == '"' && json.Unmarshal(value, &said) == nil {
		return said
	}
	return string(value)
}

func negotiated(asked string) string {
	for _, version := range mcpVersions {
		if version == asked {
			return asked
		}
	}
	return mcpVersions[0]
}

func failed(id json.RawMessage, code int, reason string) object {
	return object{"jsonrpc": "2.0", "id": orNull(id), "error": object{"code": code, "message": reason}}
}

// bridge carries JSON-RPC lines from stdin to the gateway's /mcp and the answers back, several at once.
func bridge() {
	address := os.Getenv("FUMEHOOD_MCP_URL")
	if address == "" {
		address = fmt.Sprintf("http://127.0.0.1:%d/mcp", port)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 16}}
	var waiting sync.WaitGroup
	var writing sync.Mutex
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			if answer := carried(client, address, line); len(answer) > 0 {
				writing.Lock()
				defer writing.Unlock()
				_, _ = os.Stdout.Write(append(answer, '\n'))
			}
		}()
	}
	waiting.Wait()
}

func carried(client *http.Client, address string, line []byte) []byte {
	var answer []byte
	response, err := client.Post(address, "application/json", bytes.NewReader(line))
	if err == nil {
		answer, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err == nil && response.StatusCode >= 300 && !bytes.Contains(answer, []byte(`"jsonrpc"`)) {
			err = fmt.Errorf("HTTP %d: %s", response.StatusCode, answer)
		}
	}
	if err != nil {
		var asked rpcMessage
		_ = json.Unmarshal(line, &asked)
		answer, _ = encoded(failed(asked.ID, -32603, "the tools cannot be reached: "+err.Error()))
	}
	return bytes.TrimSpace(answer)
}
