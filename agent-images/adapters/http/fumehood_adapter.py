"""A server in the container as an agent: started, waited for, made to forget and proven to, then posted the task.

The body is the mapping's (`{"input": text, "messages": [...]}` without one), what is answered the answer. The proof:
words posted before a reset may come back neither in an answer nor in what the server asks a model or a tool.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import fumehood_gateway
from fumehood_entry import SPEC, STATE, about, adapted, answer, fill, give_up

AGENT = about()
HTTP = SPEC["http"]
ROOT = "http://127.0.0.1:%d" % HTTP["port"]
POLL_S = 0.05
GRACE_S = 5.0
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Text:
    """A task of one text, for the proof."""

    def __init__(self, text):
        self.input, self.messages = text, [{"role": "user", "content": text}]


class Server:
    """The server's process."""

    def start(self):
        """Start it and wait until it can work; ends ours where it ends first. The harness's limit ends the wait."""
        try:
            self.process = subprocess.Popen(SPEC["entry"], stdin=subprocess.DEVNULL, start_new_session=True)
        except OSError as error:
            give_up("cannot start %s: %s" % (SPEC["entry"][0], error))
        while not self._ready():
            if self.process.poll() is not None:
                told = (SPEC["entry"][0], self.process.returncode, HTTP["port"])
                give_up("%s ended with code %d before it could be reached on port %d" % told)
            time.sleep(POLL_S)

    def _ready(self):
        try:
            if HTTP["ready"]:
                opener.open(ROOT + HTTP["ready"]).close()
            else:
                socket.create_connection(("127.0.0.1", HTTP["port"])).close()
        except (OSError, ValueError):
            return False
        return True

    def reset(self):
        """Make it forget, the way the manifest says."""
        if HTTP["reset"] != "restart":
            return request(HTTP["reset"], {})
        self._signal(signal.SIGTERM)
        try:
            self.process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            pass
        self._signal(signal.SIGKILL)
        self.process.wait()
        return self.start()

    def _signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def prove_reset(self):
        """End before `ready` where words from before a reset are still known after it."""
        heard, canary = overheard(), "word-" + os.urandom(8).hex()
        post(Text("Please remember: " + canary))
        self.reset()
        del heard[:]
        told = [post(Text("What did I ask you to remember?")), *heard]
        if any(canary in text for text in told):
            give_up("the reset (%s) does not make the server forget: what was said before is still there" % HTTP["reset"])
        self.reset()


def overheard():
    """A list that what the server asks for, and is refused while there is no task, is added to."""
    heard, asked = [], fumehood_gateway.Handler._ask

    def ask(handler, kind, **fields):
        if handler.server.tools is None:
            heard.append(json.dumps(fields, ensure_ascii=False))
        return asked(handler, kind, **fields)

    fumehood_gateway.Handler._ask = ask
    return heard


def request(path, body):
    """POST a JSON body; the text that is answered. Raises OSError, also for a status of 400 or more."""
    data, kind = json.dumps(body).encode(), {"Content-Type": "application/json"}
    with opener.open(urllib.request.Request(ROOT + path, data, kind)) as response:
        return response.read().decode("utf-8", "replace")


def body_of(task):
    """The mapping's body, or the text and the conversation."""
    mapped = STATE["input"] or STATE["start"]
    return fill(task, "input") if mapped else {"input": task.input, "messages": task.messages}


def post(task):
    """What the server answers, an error's text included; "" where it cannot be asked."""
    try:
        return request(HTTP["path"], body_of(task))
    except urllib.error.HTTPError as error:
        return error.read().decode("utf-8", "replace")
    except OSError:
        return ""


@adapted
def agent(task, tools):
    try:
        said = request(HTTP["path"], body_of(task))
    except urllib.error.HTTPError as error:
        said = error.read().decode("utf-8", "replace")
        raise RuntimeError("%s answered %d: %s" % (HTTP["path"], error.code, said[:1000])) from None
    try:
        said = json.loads(said)
    except ValueError:
        pass  # text
    return answer(said)


server = Server()
server.start()
if HTTP["reset"]:
    try:
        server.prove_reset()
    except OSError as error:
        give_up("the reset %s failed: %s" % (HTTP["reset"], error))
print("the server answers on port %d" % HTTP["port"], file=sys.stderr)
