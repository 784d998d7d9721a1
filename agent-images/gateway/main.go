// fumehood-gateway makes an agent of any program: it is the image's entry point, speaks the Fumehood protocol on
// stdin and stdout, serves the harness's models and tools on loopback, starts the program with an environment that
// says where, hands it the task and takes its answer. Go 1.19 or later, standard library only, Linux.
//
//	fumehood-gateway [--task stdin|arg|env|file|http] [--answer text|json] [--url URL] -- COMMAND ARGUMENT...
//	fumehood-gateway mcp         (or under the name fumehood-mcp): the tools as an MCP server on stdin and stdout
//
// --task    stdin: the task's text on stdin. arg: as an argument, in place of `{}` or last. env: FUMEHOOD_TASK.
//           file: the path of a file with it, as an argument like `arg`, and in FUMEHOOD_TASK_FILE.
//           http: COMMAND is a server, started before the agent says ready; the task is sent to --url by POST as
//           {"input": text, "messages": [{role, content}...]}, and the body of the answer is the answer.
// --answer  text: what the program prints to stdout. json: the last JSON value it prints, as data.
//
// Before an agent has its task, and after it is cancelled, its requests are refused with 503.

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const farewell = 100 * time.Millisecond // in which the program may hear that its calls are refused
const grace = 300 * time.Millisecond    // from TERM to KILL
const port = 4181                       // always the same, so that a client's own settings file may name it

var keys = []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "LITELLM_PROXY_API_KEY"}

func main() {
	if filepath.Base(os.Args[0]) == "fumehood-mcp" || len(os.Args) == 2 && os.Args[1] == "mcp" {
		bridge()
		return
	}
	how := options()
	c, err := open()
	if err == nil {
		err = lend(c)
	}
	if err != nil {
		fail(err)
	}
	agent := newProgram(how)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM) // process 1 has no default action for it
	go func() {
		<-stop
		agent.stop()
		os.Exit(143)
	}()
	if how.task == "http" {
		if err := agent.boot(); err != nil {
			fail(err)
		}
	}
	about := object{"name": filepath.Base(how.command[0])}
	if err := c.send(object{"type": "ready", "protocol": []string{protocolVersion}, "agent": about}); err != nil {
		fail(err)
	}
	task, err := c.begin()
	if err != nil {
		fail(err)
	}
	if task != nil {
		go func() {
			c.listen()
			time.Sleep(farewell)
			agent.stop() // cancelled, or nobody is left to hear the answer
			os.Exit(0)
		}()
		c.finish(agent.work(task))
	}
	agent.stop()
	os.Exit(0)
}

type policy struct {
	task, answer, url string
	command           []string
}

func options() policy {
	var how policy
	flag.StringVar(&how.task, "task", "stdin", "how the task is given: stdin, arg, env, file or http")
	flag.StringVar(&how.answer, "answer", "text", "how the answer is read: text or json")
	flag.StringVar(&how.url, "url", "", "where the task is sent with --task http")
	flag.Parse()
	how.command = flag.Args()
	tasks := map[string]bool{"stdin": true, "arg": true, "env": true, "file": true, "http": true}
	switch {
	case len(how.command) == 0:
		fail(fmt.Errorf("name the program to start: fumehood-gateway [OPTIONS] -- COMMAND ARGUMENT"))
	case !found(how.command[0]):
		fail(fmt.Errorf("there is no program %s", how.command[0]))
	case !tasks[how.task]:
		fail(fmt.Errorf("--task is stdin, arg, env, file or http; came %q", how.task))
	case how.answer != "text" && how.answer != "json":
		fail(fmt.Errorf("--answer is text or json; came %q", how.answer))
	case (how.task == "http") != (how.url != ""):
		fail(fmt.Errorf("--task http and --url go together"))
	}
	return how
}

func found(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// lend serves the gateway on loopback and names it in the environment.
func lend(c *channel) error {
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil { // taken
		listener, err = net.Listen("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		return err
	}
	root := "http://" + listener.Addr().String()
	for _, name := range []string{"OPENAI_BASE_URL", "OPENAI_API_BASE"} {
		_ = os.Setenv(name, root+"/v1")
	}
	for _, name := range []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "AZURE_OPENAI_ENDPOINT", "LITELLM_PROXY_API_BASE"} {
		_ = os.Setenv(name, root)
	}
	_ = os.Setenv("FUMEHOOD_MCP_URL", root+"/mcp")
	for _, name := range keys {
		setDefault(name, "sk-placeholder")
	}
	setDefault("OPENAI_API_VERSION", "2024-10-21")
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		local := "127.0.0.1,localhost"
		if before := os.Getenv(name); before != "" {
			local = before + "," + local
		}
		_ = os.Setenv(name, local)
	}
	server := &http.Server{Handler: c, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { fail(server.Serve(listener)) }()
	return nil
}

func setDefault(name, value string) {
	if _, there := os.LookupEnv(name); !there {
		_ = os.Setenv(name, value)
	}
}

// finish sends the trajectory, unless nobody waits for it; a failure where it would not fit the cap.
func (c *channel) finish(answer object) {
	if c.over() {
		return
	}
	answer["type"] = "trajectory"
	if err := c.send(answer); err != nil {
		fmt.Fprintln(os.Stderr, "fumehood-gateway:", err)
		_ = c.send(object{"type": "trajectory", "status": "failed", "error": object{"message": err.Error()}})
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "fumehood-gateway:", err)
	os.Exit(1)
}

// conversation is the task as messages of {role, content}, and as one text: the only user's words, or all turns.
func (m *message) conversation() ([]object, string) {
	var alone string
	if json.Unmarshal(m.Input, &alone) == nil {
		return []object{{"role": "user", "content": alone}}, alone
	}
	var turns []struct{ Role, Content string }
	_ = json.Unmarshal(m.Input, &turns)
	messages, all := []object{}, ""
	for _, turn := range turns {
		messages = append(messages, object{"role": turn.Role, "content": turn.Content})
		all += turn.Role + ": " + turn.Content + "\n\n"
	}
	if len(turns) == 1 && turns[0].Role == "user" {
		return messages, turns[0].Content
	}
	return messages, all
}
