// The agent's program: started with the task, its answer read, its processes ended with it.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const kept = 1 << 20              // bytes of an answer, its end
const bootTime = 10 * time.Minute // the harness's own start-up limit is shorter
const bootPoll = 50 * time.Millisecond

// program is started once.
type program struct {
	how     policy
	command *exec.Cmd
	input   string
	out     tail
	mutex   sync.Mutex // guards what follows
	ended   chan struct{}
	stopped bool
	failure error
}

func newProgram(how policy) *program {
	command := exec.Command(how.command[0], how.command[1:]...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Stderr = os.Stderr
	return &program{how: how, command: command}
}

// start starts it and watches for its end. The pipes are our own: what it leaves running may hold them for ever.
func (p *program) start() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.stopped {
		return errCancelled
	}
	stdin, task, err1 := os.Pipe()
	printed, stdout, err2 := os.Pipe()
	if err1 != nil || err2 != nil {
		return fmt.Errorf("no pipe: %v %v", err1, err2)
	}
	p.command.Stdin, p.command.Stdout = stdin, stdout
	if p.how.task == "http" {
		p.command.Stdout = os.Stderr
	}
	err := p.command.Start()
	_, _ = stdin.Close(), stdout.Close()
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.WriteString(task, p.input)
		_ = task.Close()
	}()
	drained := make(chan struct{})
	go func() {
		_, _ = io.Copy(&p.out, printed)
		close(drained)
	}()
	p.ended = make(chan struct{})
	go func() {
		p.failure = p.command.Wait()
		select {
		case <-drained:
		case <-time.After(grace):
		}
		close(p.ended)
	}()
	return nil
}

// stop ends its processes: TERM, then KILL.
func (p *program) stop() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.stopped = true
	if p.ended == nil {
		return
	}
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(grace):
	}
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
}

// work gives it the task and is the trajectory it comes to.
func (p *program) work(task *message) object {
	if p.how.task == "http" {
		return p.posted(task)
	}
	_, text := task.conversation()
	if err := p.give(text); err != nil {
		return failedWith(err, nil)
	}
	if err := p.start(); err != nil {
		return failedWith(err, nil)
	}
	<-p.ended
	var err error
	if p.failure != nil {
		err = fmt.Errorf("%s: %w", p.how.command[0], p.failure)
	}
	return p.answer(p.out.end(), err)
}

// answer makes a trajectory of what was printed; a failure where `err` says so or it cannot be read.
func (p *program) answer(said []byte, err error) object {
	text := object{"text": strings.ToValidUTF8(string(bytes.TrimSpace(said)), "\ufffd")}
	if err != nil || p.how.answer == "text" {
		if err != nil {
			return failedWith(err, text)
		}
		return object{"status": "completed", "output": text}
	}
	data, err := lastJSON(said)
	if err != nil {
		return failedWith(err, text)
	}
	return object{"status": "completed", "output": object{"data": data}}
}

// lastJSON is the whole, or its last line that is JSON.
func lastJSON(said []byte) (json.RawMessage, error) {
	if data, err := cleaned(said); err == nil {
		return data, nil
	}
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	for index := len(lines) - 1; index >= 0; index-- {
		if data, err := cleaned(lines[index]); err == nil {
			return data, nil
		}
	}
	return nil, fmt.Errorf("expected JSON, whole or as the last line, as the answer; came %.200q", said)
}

// give puts the task where the program looks for it.
func (p *program) give(text string) error {
	switch p.how.task {
	case "stdin":
		p.input = text
	case "arg":
		p.argue(text)
	case "env":
		p.command.Env = append(os.Environ(), "FUMEHOOD_TASK="+text)
	case "file":
		path := filepath.Join(os.TempDir(), "task.txt")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
		p.argue(path)
		p.command.Env = append(os.Environ(), "FUMEHOOD_TASK_FILE="+path)
	}
	return nil
}

// argue puts `value` in place of each `{}`, or last where there is none.
func (p *program) argue(value string) {
	there := false
	for index, argument := range p.command.Args[1:] {
		if argument == "{}" {
			p.command.Args[index+1], there = value, true
		}
	}
	if !there {
		p.command.Args = append(p.command.Args, value)
	}
}

// boot starts a server and waits until it accepts connections.
func (p *program) boot() error {
	where, err := url.Parse(p.how.url)
	if err != nil {
		return err
	}
	address := where.Host
	if where.Port() == "" {
		address = net.JoinHostPort(where.Hostname(), "80")
	}
	if err := p.start(); err != nil {
		return err
	}
	for end := time.Now().Add(bootTime); time.Now().Before(end); time.Sleep(bootPoll) {
		if connection, err := net.Dial("tcp", address); err == nil {
			return connection.Close()
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended before it listened on %s: %v", p.how.command[0], address, p.failure)
		default:
		}
	}
	return fmt.Errorf("%s never listened on %s", p.how.command[0], address)
}

// posted sends the task to the server; what it answers is the answer.
func (p *program) posted(task *message) object {
	messages, text := task.conversation()
	body, err := encoded(object{"input": text, "messages": messages})
	if err != nil {
		return failedWith(err, nil)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-p.ended
		time.Sleep(grace) // its last words may still be on their way
		cancel()
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.how.url, bytes.NewReader(body))
	if err != nil {
		return failedWith(err, nil)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Transport: &http.Transport{Proxy: nil}}).Do(request)
	if err != nil {
		return failedWith(err, nil)
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, kept))
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s answered %s", p.how.url, response.Status)
	}
	return p.answer(said, err)
}

func failedWith(err error, output object) object {
	if output == nil {
		output = object{}
	}
	return object{"status": "failed", "output": output, "error": object{"message": fmt.Sprintf("%.4000s", err.Error())}}
}

// tail keeps the end of what is written to it.
type tail struct {
	mutex sync.Mutex
	held  []byte
}

func (t *tail) Write(data []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.held = append(t.held, data...)
	if len(t.held) > 2*kept { // cut seldom, not with each write
		t.held = append([]byte(nil), t.held[len(t.held)-kept:]...)
	}
	return len(data), nil
}

func (t *tail) end() []byte {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if over := len(t.held) - kept; over > 0 {
		fmt.Fprintf(os.Stderr, "fumehood-gateway: only the last %d bytes of stdout are the answer\n", kept)
		return append([]byte(nil), t.held[over:]...)
	}
	return append([]byte(nil), t.held...)
}
