"""Starts runs on a server and writes a configuration of Schemathesis that names them, so that generated requests reach them.

Usage: schemathesis-samples.py ADDRESS CONFIGURATION
"""

import json
import sys
import urllib.request
from pathlib import Path

WORKFLOW = """name: sample
steps:
  - {id: score, step_type: text, template: '{"score": 7}'}
  - {id: ask, step_type: human_in_the_loop, prompt: "Go {{input}}?", choices: [yes, no], required_approvals: 1}
  - {id: after, step_type: text, template: "{{step.ask.output.outcome}}"}
"""

RUNS = 40


def main() -> None:
    address, path = sys.argv[1:]
    send(address, "/workflows", {"text": WORKFLOW})
    runs = [f"sample-{number}" for number in range(RUNS)]
    for run in runs:
        send(address, "/runs?wait=10s", {"workflow": "sample", "id": run, "inputs": {"input": run}})
    number = send(address, "/approvals?show=all")["items"][0]["key"].split("/")[1]
    # Half of the runs are completed.
    for run in runs[::2]:
        send(address, f"/approvals/{run}/{number}/vote", {"choice": "yes"})
    steps = [step["key"] for step in send(address, f"/runs/{runs[0]}/trace?limit=200")["items"]]
    workflows = send(address, "/workflows?limit=200")["items"]
    sessions = [workflow["name"] for workflow in workflows if workflow["dialect"] == "session"]
    send(address, f"/agents/{sessions[0]}/sessions/s1/messages", {"text": "research caching"})
    values = {
        "run": runs,
        "number": [number],
        "step": steps,
        "part": ["input", "output"],
        "name": ["sample", workflows[0]["name"]],
        "workflow": ["sample"],
        "document": sessions,
        "session": ["s1"],
    }
    text = Path("schemathesis.toml").read_text(encoding="utf-8") + "\n"
    for name, known in values.items():
        text += f"[dictionaries.{name}]\nvalues = {json.dumps(known)}\n\n"
    text += "[parameters]\n"
    for name in values:
        place = "body" if name == "workflow" else "path"
        text += f'"{place}.{name}" = {{ dictionary = "{name}", probability = 0.7 }}\n'
    Path(path).write_text(text, encoding="utf-8")


def send(address: str, path: str, body: object = None) -> dict:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{address}/api/v1{path}", data, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.loads(response.read() or "null")


main()
