// The agent's side of the Fumehood protocol in one file: Go 1.19 or later, standard library only, Linux.
//
//	func main() {
//		Run(About{Name: "example"}, func(task *Task, tools *Tools) (any, error) {
//			found, err := tools.Call("policy_lookup", map[string]any{"tier": "premium"})
//			if err != nil {
//				return nil, err
//			}
//			return fmt.Sprintf("policy: %v", found), nil
//		})
//	}
//
// What the function returns is its answer: a string is text; Answer is text, data or both; Refusal refuses;
// anything else is data. An error or a panic fails the task. The process ends when the function returns.

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const protocolVersion = "1.0"
const grace = 100 * time.Millisecond

// About says who the agent is.
type About struct {
	Name      string `json:"name"`
	Version   string `json:"version,omitempty"`
	Framework string `json:"framework,omitempty"`
	Model     string `json:"model,omitempty"`
}

// Turn is one message of a conversation.
type Turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// ToolSpec describes a tool; InputSchema is JSON Schema.
type ToolSpec struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema map[string]any `json:"input_schema"`
}

// Answer is an answer with text, data, or both.
type Answer struct {
	Text string `json:"text,omitempty"`
	Data any    `json:"data,omitempty"`
}

// Refusal declines the task and tells the user why.
type Refusal string

// ToolError says that a tool call failed (or, if Denied, that the tool may not be called).
type ToolError struct {
	Name, Reason, Code string
	Content            any
	Denied             bool
}

func (e *ToolError) Error() string { return "tool " + e.Name + ": " + e.Reason }

// ErrCancelled: nobody waits for the answer any more.
var ErrCancelled = errors.New("cancelled, or the channel to the harness is closed")

// Task is the work: Input is its text, Messages the same as a conversation.
type Task struct {
	Input     string
	Messages  []Turn
	Context   map[string]any
	Budget    map[string]any
	Workspace string
	channel   *channel
}

// Ask asks the user and returns the answer.
func (t *Task) Ask(question string) (string, error) {
	t.channel.step(map[string]any{"kind": "ask", "content": question})
	answer, err := t.channel.ask(map[string]any{"type": "ask", "content": question})
	if err != nil {
		return "", err
	}
	text, _ := answer.Content.(string)
	return text, nil
}

// Model calls a model with an OpenAI chat-completions body and returns the completion.
func (t *Task) Model(request map[string]any) (map[string]any, error) {
	t.channel.step(map[string]any{"kind": "model_call"})
	answer, err := t.channel.ask(map[string]any{"type": "model_call", "request": request})
	if err != nil {
		return nil, err
	}
	if answer.Error != "" || answer.Response == nil {
		return nil, fmt.Errorf("model call failed: %s", answer.Error)
	}
	return answer.Response, nil
}

// Note writes a line to the log; level is debug, info, warning or error.
func (t *Task) Note(level, text string) error {
	return t.channel.send(map[string]any{"type": "note", "level": level, "text": text})
}

// State reports a snapshot of the agent's state.
func (t *Task) State(snapshot any) error {
	return t.channel.send(map[string]any{"type": "state", "snapshot": snapshot})
}

// Tools are the tools of a task; Specs keeps the order given.
type Tools struct {
	Specs   []ToolSpec
	channel *channel
}

// Call calls a tool and returns its content; the error is a *ToolError if the call was answered.
func (t *Tools) Call(name string, arguments map[string]any) (any, error) {
	if arguments == nil {
		arguments = map[string]any{}
	}
	t.channel.step(map[string]any{"kind": "tool_call", "name": name, "arguments": arguments})
	answer, err := t.channel.ask(map[string]any{"type": "tool_call", "name": name, "arguments": arguments})
	if err != nil {
		return nil, err
	}
	if answer.Status == "ok" {
		return answer.Content, nil
	}
	failed := &ToolError{Name: name, Reason: answer.Reason, Content: answer.Content, Denied: answer.Status == "denied"}
	if content, ok := answer.Content.(map[string]any); ok {
		failed.Code, _ = content["code"].(string)
		if message, ok := content["message"].(string); ok && failed.Reason == "" {
			failed.Reason = message
		}
	}
	return nil, failed
}

// reply holds every field of the messages to an agent that this file reads; unknown ones are ignored.
type reply struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Content   any             `json:"content"`
	Reason    string          `json:"reason"`
	Response  map[string]any  `json:"response"`
	Error     string          `json:"error"`
	Input     json.RawMessage `json:"input"`
	Context   map[string]any  `json:"context"`
	Tools     []ToolSpec      `json:"tools"`
	Budget    map[string]any  `json:"budget"`
	Workspace string          `json:"workspace"`
	Limits    struct {
		MaxLineBytes int `json:"max_line_bytes"`
	} `json:"limits"`
}

// channel carries lines of JSON; replies are matched to calls by id.
type channel struct {
	in      *bufio.Reader
	out     *os.File
	writing sync.Mutex
	mutex   sync.Mutex // guards what follows
	waiting map[string]chan *reply
	next    int
	closed  bool
	steps   []any
	cap     int
}

// open takes stdin and stdout for the protocol: what the agent or a child prints ends on stderr.
func open() *channel {
	in, err1 := syscall.Dup(0)
	out, err2 := syscall.Dup(1)
	null, err3 := os.Open(os.DevNull)
	if err1 != nil || err2 != nil || err3 != nil {
		fmt.Fprintln(os.Stderr, "cannot set up stdin and stdout:", err1, err2, err3)
		os.Exit(1)
	}
	syscall.CloseOnExec(in)
	syscall.CloseOnExec(out)
	_ = syscall.Dup3(int(null.Fd()), 0, 0)
	_ = syscall.Dup3(2, 1, 0)
	return &channel{
		in:      bufio.NewReaderSize(os.NewFile(uintptr(in), "in"), 1<<16),
		out:     os.NewFile(uintptr(out), "out"),
		waiting: map[string]chan *reply{},
		cap:     4 << 20,
	}
}

func (c *channel) send(message any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line) // ends with LF; invalid UTF-8 becomes U+FFFD
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(message); err != nil {
		return err
	}
	if line.Len()-1 > c.cap {
		return fmt.Errorf("a message of %d bytes is over the cap of %d", line.Len()-1, c.cap)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(line.Bytes())
	return err
}

func (c *channel) receive() (*reply, error) {
	line, err := c.in.ReadBytes('\n')
	if err != nil {
		return nil, io.EOF
	}
	message := &reply{}
	return message, json.Unmarshal(line, message)
}

func (c *channel) step(step map[string]any) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.steps = append(c.steps, step)
}

func (c *channel) ask(message map[string]any) (*reply, error) {
	box := make(chan *reply, 1)
	c.mutex.Lock()
	if c.closed {
		c.mutex.Unlock()
		return nil, ErrCancelled
	}
	c.next++
	id := "c" + strconv.Itoa(c.next)
	c.waiting[id] = box
	c.mutex.Unlock()
	message["id"] = id
	if err := c.send(message); err != nil {
		return nil, err
	}
	answer, open := <-box
	if !open {
		return nil, ErrCancelled
	}
	return answer, nil
}

// listen hands replies to whoever waits until the stream ends; a cancel ends the process.
func (c *channel) listen() {
	defer c.close()
	for {
		message, err := c.receive()
		if err != nil {
			return
		}
		if message.Type == "cancel" {
			c.close()
			time.Sleep(grace)
			os.Exit(0)
		}
		c.mutex.Lock()
		box := c.waiting[message.ID]
		delete(c.waiting, message.ID)
		c.mutex.Unlock()
		if box != nil {
			box <- message
		}
	}
}

func (c *channel) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.closed = true
	for id, box := range c.waiting {
		close(box)
		delete(c.waiting, id)
	}
}

// trajectory turns what the agent returned into the last message.
func trajectory(result any, err error) map[string]any {
	message := map[string]any{"type": "trajectory", "status": "completed"}
	switch value := result.(type) {
	case string:
		message["output"] = Answer{Text: value}
	case Answer:
		message["output"] = value
	case Refusal:
		message["status"], message["output"] = "refused", Answer{Text: string(value)}
	case nil:
	default:
		message["output"] = Answer{Data: value}
	}
	if err != nil {
		message = map[string]any{"type": "trajectory", "status": "failed", "error": map[string]any{"message": err.Error()}}
	}
	return message
}

// guarded runs the agent; a panic becomes an error, its stack goes to stderr.
func guarded(agent func(*Task, *Tools) (any, error), task *Task, tools *Tools) (result any, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			fmt.Fprintf(os.Stderr, "panic: %v\n%s", panicked, debug.Stack())
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	return agent(task, tools)
}

func newTask(c *channel, invoke *reply) *Task {
	task := &Task{Context: invoke.Context, Budget: invoke.Budget, Workspace: invoke.Workspace, channel: c}
	if json.Unmarshal(invoke.Input, &task.Input) == nil {
		task.Messages = []Turn{{Role: "user", Content: task.Input}}
		return task
	}
	_ = json.Unmarshal(invoke.Input, &task.Messages)
	for _, turn := range task.Messages {
		if turn.Role == "user" {
			task.Input = turn.Content
		}
	}
	return task
}

// finish sends the trajectory with its steps; without them, or as a failure, where it would not fit the cap.
func (c *channel) finish(message map[string]any) {
	c.mutex.Lock()
	withSteps := map[string]any{"steps": c.steps}
	c.mutex.Unlock()
	for key, value := range message {
		withSteps[key] = value
	}
	if c.steps == nil {
		delete(withSteps, "steps")
	}
	tooBig := trajectory(nil, errors.New("the answer is over the line cap, or not JSON"))
	for _, candidate := range []any{withSteps, message, tooBig} {
		err := c.send(candidate)
		if err == nil {
			return
		}
		fmt.Fprintln(os.Stderr, "fumehood:", err)
	}
}

// Run serves one task with `agent`; it does not return.
func Run(about About, agent func(*Task, *Tools) (any, error)) {
	c := open()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM) // process 1 has no default action for it
	go func() { <-stop; os.Exit(143) }()
	_ = c.send(map[string]any{"type": "ready", "protocol": []string{protocolVersion}, "agent": about, "capabilities": []string{}})
	invoke, err := c.receive()
	if err != nil && err != io.EOF {
		fmt.Fprintln(os.Stderr, "fumehood: unreadable invoke:", err)
		os.Exit(1)
	}
	if err == io.EOF || invoke.Type != "invoke" { // closed or cancelled before there was work
		os.Exit(0)
	}
	if invoke.Limits.MaxLineBytes > 0 {
		c.cap = invoke.Limits.MaxLineBytes
	}
	go c.listen()
	result, err := guarded(agent, newTask(c, invoke), &Tools{Specs: invoke.Tools, channel: c})
	if !errors.Is(err, ErrCancelled) {
		c.finish(trajectory(result, err))
	}
	os.Exit(0)
}
