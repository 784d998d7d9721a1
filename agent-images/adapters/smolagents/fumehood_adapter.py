"""A smolagents agent, or a function that makes one: the scenario's tools are added to its own, and win over them."""

from fumehood_entry import about, adapted, answer, called, load
from smolagents import MultiStepAgent, Tool

AGENT = about("smolagents")
target = load()


@adapted
def agent(task, tools):
    made = target if isinstance(target, MultiStepAgent) else target()
    for spec in tools.describe():
        made.tools[spec["name"]] = Mediated(tools, spec)
    before = "".join("%s: %s\n" % (m["role"], m["content"]) for m in task.messages[:-1])
    return answer(made.run(before + task.input))


class Mediated(Tool):
    """A scenario's tool as smolagents has them."""

    skip_forward_signature_validation = True
    output_type = "string"

    def __init__(self, tools, spec):
        self.name, self.description = spec["name"], spec["description"] or spec["name"]
        needed = spec["input_schema"].get("required", ())
        self.inputs = {name: _input(name, how, name in needed) for name, how in _properties(spec).items()}
        self._tools = tools
        super().__init__()

    def forward(self, **arguments):
        return called(self._tools, self.name, arguments)


def _properties(spec):
    return spec["input_schema"].get("properties", {})


def _input(name, how, needed):
    kind = how.get("type")
    found = {"type": kind if isinstance(kind, str) else "any", "description": how.get("description") or name}
    return found if needed else dict(found, nullable=True)
