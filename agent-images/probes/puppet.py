"""Plays the script in its task's context, step by step: a broken agent and its healthy twin come from one image."""

import base64
import os
import sys
import time

import wire

# `context.do` is a list of steps, each an object with one of these keys, or `call` with `args`:
#
# call: NAME, args: {...}    a tool call, and its result awaited
# ask: TEXT                  a question to the user, and its answer awaited
# model: TEXT or {...}       a model call (a user message, or a whole request body), and its result awaited
# note: TEXT                 a line of the log
# sleep: SECONDS             nothing, for so long
# write: PATH                an attempt to create a file
# put: PATH, text: TEXT      a file of the workspace, written anew
# remove: PATH               a file of the workspace, deleted
# exit: CODE                 the end of the process, without an answer
# steps: [...], usage: {...} what the trajectory will report
# answer: TEXT or {text, data}, refuse: ..., fail: ...    the trajectory, and the end
#
# An object {base64: TEXT} anywhere in a step stands for the text encoded.


def spelled(value):
    """The step with its encoded texts filled in."""
    if isinstance(value, list):
        return [spelled(item) for item in value]
    if isinstance(value, dict):
        if set(value) == {"base64"}:
            return base64.b64encode(value["base64"].encode()).decode()
        return {key: spelled(item) for key, item in value.items()}
    return value


class Puppet:
    """One method per step; `report` is what the trajectory will carry besides the answer."""

    def __init__(self):
        self.report = {}
        self.count = 0

    def run(self, steps):
        for step in steps:
            name = next(iter(step))
            getattr(self, "do_" + name)(step[name], step)

    def exchange(self, kind, **fields):
        self.count += 1
        wire.send({"type": kind, "id": f"{kind[0]}{self.count}", **fields})
        return wire.receive()

    def do_call(self, name, step):
        self.exchange("tool_call", name=name, arguments=step.get("args", {}))

    def do_ask(self, text, step):
        self.exchange("ask", content=text)

    def do_model(self, request, step):
        if isinstance(request, str):
            request = {"model": "any", "messages": [{"role": "user", "content": request}]}
        self.exchange("model_call", request=request)

    def do_note(self, text, step):
        wire.note(text)

    def do_sleep(self, seconds, step):
        time.sleep(seconds)

    def do_write(self, path, step):
        try:
            with open(path, "w") as file:
                file.write("x")
        except OSError as error:
            wire.note(f"could not write: {error}")

    def do_put(self, path, step):
        path = os.path.join(work["workspace"], path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(step.get("text", ""))

    def do_remove(self, path, step):
        os.remove(os.path.join(work["workspace"], path))

    def do_exit(self, code, step):
        sys.exit(code)

    def do_steps(self, steps, step):
        self.report["steps"] = steps

    def do_usage(self, usage, step):
        self.report["usage"] = usage

    def do_answer(self, said, step):
        self.finish("completed", said)

    def do_refuse(self, said, step):
        self.finish("refused", said)

    def do_fail(self, said, step):
        self.finish("failed", said)

    def finish(self, status, said):
        output = said if isinstance(said, dict) else {"text": said}
        wire.send({"type": "trajectory", "status": status, "output": output, **self.report})
        sys.exit(0)


work = wire.start()
Puppet().run(spelled(work["context"]["do"]))
