// Model APIs over HTTP. Nothing is translated: the body of a request goes to the harness with `api` added, and what
// comes back is already in that API's shape.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

var apis = []string{"chat/completions", "responses", "embeddings", "messages"}

// refused is a request that is answered with a status and a message, and goes no further.
type refused struct {
	status int
	reason string
}

func (r refused) Error() string { return r.reason }

func (c *channel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimRight(r.URL.Path, "/")
	api := ""
	for _, name := range apis {
		if strings.HasSuffix(path, "/"+name) {
			api = name
		}
	}
	err := c.route(w, r, path, api)
	var stop refused
	switch {
	case err == nil:
	case errors.As(err, &stop):
		refuse(w, api, stop.status, stop.reason)
	default:
		refuse(w, api, http.StatusServiceUnavailable, err.Error())
	}
}

func (c *channel) route(w http.ResponseWriter, r *http.Request, path, api string) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(c.limit())+1))
	if err != nil {
		return refused{400, "the body cannot be read: " + err.Error()}
	}
	if len(body) > c.limit() {
		w.Header().Set("Connection", "close")
		return refused{413, fmt.Sprintf("the body is over the %d bytes that one line to the harness may have", c.limit())}
	}
	_, name, listing := strings.Cut(path, "/models")
	switch {
	case strings.HasSuffix(path, "/mcp"):
		return c.mcp(w, r, body)
	case r.Method == http.MethodPost && api != "":
		return c.model(w, strings.Split(api, "/")[0], body)
	case r.Method == http.MethodGet && listing:
		return c.list(w, strings.TrimPrefix(name, "/"))
	case (r.Method == http.MethodGet || r.Method == http.MethodHead) && (path == "" || path == "/v1" || path == "/health"):
		reply(w, 200, object{"status": "ok"})
		return nil
	}
	return refused{404, fmt.Sprintf("%s %s is not served; served here: POST %s, GET models, POST mcp",
		r.Method, path, strings.Join(apis, ", "))}
}

func (c *channel) list(w http.ResponseWriter, name string) error {
	request := map[string]string{}
	if name != "" {
		request["model"] = name
	}
	body, err := encoded(request)
	if err != nil {
		return err
	}
	return c.model(w, "models", body)
}

func (c *channel) model(w http.ResponseWriter, api string, body []byte) error {
	var request map[string]json.RawMessage
	clean, err := cleaned(body)
	if err != nil {
		return refused{400, "the body cannot be passed on: " + err.Error()}
	}
	if json.Unmarshal(clean, &request) != nil || request == nil {
		return refused{400, "the body must be a JSON object"}
	}
	request["api"], _ = encoded(api)
	stream := string(request["stream"]) == "true"
	box, err := c.ask(object{"type": "model_call", "request": request, "stream": stream})
	if err != nil {
		return err
	}
	first, err := box.next()
	switch {
	case err != nil:
		return err
	case first.Type == "model_chunk":
		streamed(w, api, first, box)
	case first.Error == nil:
		reply(w, 200, orNull(first.Response))
	default:
		reply(w, first.status(), first.failure(api))
	}
	return nil
}

// streamed writes an event per chunk; what is broken off by a cancel is seen to be.
func streamed(w http.ResponseWriter, api string, m *message, box *replies) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	for {
		said := m.Delta
		if m.Type != "model_chunk" {
			said.Event = "error"
			said.Data, _ = encoded(m.failure(api))
		}
		if said.Event != "" {
			fmt.Fprintf(w, "event: %s\n", said.Event)
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", said.Data); err != nil {
			return // the agent hung up
		}
		w.(http.Flusher).Flush()
		if m.last() {
			break
		}
		var err error
		if m, err = box.next(); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	if api == "chat" {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}

func (m *message) status() int {
	status := 0
	if json.Unmarshal(m.Status, &status) != nil || status < 400 || status > 599 {
		return http.StatusInternalServerError
	}
	return status
}

// failure is the error's body: the harness's, else one in the API's words.
func (m *message) failure(api string) any {
	if given(m.Response) {
		return m.Response
	}
	reason := "no reason given"
	if m.Error != nil {
		reason = *m.Error
	}
	return worded(api, m.status(), reason)
}

// worded is an error as the API of the request would put it.
func worded(api string, status int, reason string) any {
	if api == "messages" {
		return object{"type": "error", "error": object{"type": "api_error", "message": reason}}
	}
	return object{"error": object{"message": reason, "type": "server_error", "param": nil, "code": status}}
}

func refuse(w http.ResponseWriter, api string, status int, reason string) {
	w.Header().Set("x-should-retry", "false") // what the clients of OpenAI and Anthropic heed
	reply(w, status, worded(api, status, reason))
}

func reply(w http.ResponseWriter, status int, content any) {
	body, err := encoded(content)
	if err != nil {
		status, body = 500, []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func given(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }

func orNull(value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		return json.RawMessage("null")
	}
	return value
}
