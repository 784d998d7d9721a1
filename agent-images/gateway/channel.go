// The lines to and from the harness: calls go out, replies come back to whoever waits for their id.

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
)

const protocolVersion = "1.0"

var errCancelled = errors.New("the task is over: cancelled, or the channel to the harness is closed")

type object map[string]any

// tool is one that the task offers; the schema is passed on as it came.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// message holds every field of the harness's messages that is read here; unknown ones are ignored.
type message struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Status   json.RawMessage `json:"status"` // a word of tools, a number of models
	Content  json.RawMessage `json:"content"`
	Reason   string          `json:"reason"`
	Response json.RawMessage `json:"response"`
	Error    *string         `json:"error"`
	Delta    event           `json:"delta"`
	Done     bool            `json:"done"`
	Input    json.RawMessage `json:"input"`
	Tools    []tool          `json:"tools"`
	Limits   struct {
		MaxLineBytes int `json:"max_line_bytes"`
	} `json:"limits"`
}

// event is one of a streamed answer, as a server would send it.
type event struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

func (m *message) last() bool { return m.Type != "model_chunk" || m.Done }

// replies is the box of one call: its messages in order, nil once there will be no more.
type replies struct {
	mutex  sync.Mutex
	come   sync.Cond
	queue  []*message
	closed bool
}

func (r *replies) put(m *message) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if m == nil {
		r.closed = true
	} else {
		r.queue = append(r.queue, m)
	}
	r.come.Signal()
}

// next waits for the next message; errCancelled where none will come.
func (r *replies) next() (*message, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for len(r.queue) == 0 && !r.closed {
		r.come.Wait()
	}
	if len(r.queue) == 0 {
		return nil, errCancelled
	}
	first := r.queue[0]
	r.queue = r.queue[1:]
	return first, nil
}

// channel is the harness's end. `task` is nil until there is one.
type channel struct {
	in      *bufio.Reader
	out     *os.File
	writing sync.Mutex
	mutex   sync.Mutex // guards what follows
	task    *message
	waiting map[string]*replies
	count   int
	closed  bool
	maxLine int
}

// open takes stdin and stdout for the protocol: what any program prints ends on stderr.
func open() (*channel, error) {
	in, err1 := syscall.Dup(0)
	out, err2 := syscall.Dup(1)
	null, err3 := os.Open(os.DevNull)
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return nil, err
		}
	}
	syscall.CloseOnExec(in)
	syscall.CloseOnExec(out)
	_ = syscall.Dup3(int(null.Fd()), 0, 0)
	_ = syscall.Dup3(2, 1, 0)
	return &channel{
		in:      bufio.NewReaderSize(os.NewFile(uintptr(in), "in"), 1<<16),
		out:     os.NewFile(uintptr(out), "out"),
		waiting: map[string]*replies{},
		maxLine: 4 << 20,
	}, nil
}

// send writes one message; an error where it does not fit the line cap.
func (c *channel) send(content object) error {
	line, err := encoded(content)
	if err != nil {
		return err
	}
	if len(line) > c.limit() {
		return fmt.Errorf("a %v of %d bytes is over the cap of %d", content["type"], len(line), c.limit())
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err = c.out.Write(append(line, '\n'))
	return err
}

func (c *channel) receive() (*message, error) {
	line, err := c.in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	m := &message{}
	var odd *json.UnmarshalTypeError // one field is not what we know; the rest of the message is there
	if err = json.Unmarshal(line, m); errors.As(err, &odd) {
		err = nil
	}
	return m, err
}

// begin waits for the task; nil where there will be none.
func (c *channel) begin() (*message, error) {
	m, err := c.receive()
	if m == nil { // the end of the stream
		return nil, nil
	}
	if err != nil || m.Type != "invoke" {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.task = m
	if m.Limits.MaxLineBytes > 0 {
		c.maxLine = m.Limits.MaxLineBytes
	}
	return m, nil
}

func (c *channel) limit() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.maxLine
}

// tools are those of the task; false while there is none.
func (c *channel) tools() ([]tool, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.task == nil {
		return nil, false
	}
	return c.task.Tools, true
}

// ask sends a call, whose replies come into the box.
func (c *channel) ask(call object) (*replies, error) {
	box := &replies{}
	box.come.L = &box.mutex
	c.mutex.Lock()
	if c.task == nil {
		c.mutex.Unlock()
		return nil, refused{503, "no task has begun: nothing can be asked yet"}
	}
	if c.closed {
		c.mutex.Unlock()
		return nil, errCancelled
	}
	c.count++
	id := "c" + strconv.Itoa(c.count)
	c.waiting[id] = box
	c.mutex.Unlock()
	call["id"] = id
	if err := c.send(call); err != nil {
		c.mutex.Lock()
		delete(c.waiting, id)
		c.mutex.Unlock()
		return nil, refused{413, err.Error()}
	}
	return box, nil
}

// listen hands replies to whoever waits, until the stream ends or a cancel comes.
func (c *channel) listen() {
	defer c.close()
	for {
		m, err := c.receive()
		if m == nil || m.Type == "cancel" {
			return
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "fumehood-gateway: unreadable line from the harness:", err)
			continue
		}
		c.mutex.Lock()
		box := c.waiting[m.ID]
		if m.last() {
			delete(c.waiting, m.ID)
		}
		c.mutex.Unlock()
		if box != nil {
			box.put(m)
		}
	}
}

// over is true once the task is cancelled, or the harness gone.
func (c *channel) over() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.closed
}

func (c *channel) close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.closed = true
	for id, box := range c.waiting {
		box.put(nil)
		delete(c.waiting, id)
	}
}

// encoded is compact JSON without HTML escapes; invalid UTF-8 becomes U+FFFD.
func encoded(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}
