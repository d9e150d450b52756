"""Makes up a history for a world: copies runs that ended well, with other names, times, models and endings, so that
lists and figures have something to show. Only for development; the server must not run meanwhile.
Usage: python3 history.py HOME COUNT"""

import json
import random
import sqlite3
import sys
import time

WEEK = 7 * 24 * 3600 * 1000
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
REQUESTS = [
    "Show how many notes a board has", "Sort notes by date", "Let people pin a note", "Keep deleted notes for a week",
    "Answer 404 with the API's own error", "Rate-limit the public routes", "Import notes from a CSV file",
    "Name the author of every note", "Make the board's colours accessible", "Cache the list of boards",
    "Refuse notes longer than 10,000 characters", "Log every request with its id",
]
MODELS = ["anthropic/claude-sonnet-4-5", "openai/gpt-5", "deepseek/deepseek-chat"]
PLAYBOOKS = ["autonomous"] * 6 + ["task"] * 3 + ["staged"] * 2 + ["goal"]


def main(home, count):
    dice = random.Random(7)
    store = sqlite3.connect(f"{home}/holdpoint.db")
    names = [row[1] for row in store.execute("PRAGMA table_info(workflow_runs)")]
    query = "SELECT * FROM workflow_runs WHERE status = 'completed' AND parent IS NULL"
    models = [dict(zip(names, row)) for row in store.execute(query)]
    if not models:
        raise SystemExit("no run has ended well yet")
    events = {run["number"]: store.execute(
        "SELECT sequence, type, payload, timestamp, form FROM workflow_events WHERE run = ? ORDER BY sequence",
        (run["number"],)).fetchall() for run in models}
    number = store.execute("SELECT max(number) FROM workflow_runs").fetchone()[0]
    position = store.execute("SELECT max(position) FROM workflow_events").fetchone()[0]
    now = int(time.time() * 1000)
    for made in range(count):
        run = dict(dice.choice(models))
        told = events[run["number"]]
        age = int(12 * WEEK * (1 - (made + 1) / (count + 1)))
        # Agents of a demo take seconds; those of a history take minutes, and people longer.
        slow = dice.lognormvariate(4.6, 0.6)
        begin = now - age - int((told[-1][3] - told[0][3]) * slow) - dice.randrange(WEEK // 14)
        end = dice.choices(["completed", "failed", "cancelled"], [14 + 6 * made / count, 2.5, 1.5])[0]
        model, playbook = dice.choice(MODELS), dice.choice(PLAYBOOKS)
        request = dice.choice(REQUESTS)
        price = dice.lognormvariate(2.6, 0.5)
        number += 1
        short = "".join(dice.choice(ALPHABET) for _ in range(6))
        name = short + "-" + "".join(dice.choice(ALPHABET) for _ in range(6))
        cost = 0
        for sequence, kind, payload, at, form in told:
            fact = json.loads(payload)
            if kind == "SPEND_RECORDED" and fact.get("cost"):
                fact["model"], fact["cost"] = model, int(fact["cost"] * price)
                cost += fact["cost"]
            if kind == "RUN_STARTED":
                fact["playbook"]["name"], fact["request"] = playbook, request
            if kind == "STAGE_STARTED" and dice.random() < 0.12:
                fact["visit"] = fact["visit"] + dice.choice([1, 1, 2])
            if kind == "RUN_COMPLETED" and end == "failed":
                kind, fact = "RUN_FAILED", {"reason": "the checks fail after three rounds"}
            if kind == "RUN_COMPLETED" and end == "cancelled":
                kind, fact = "RUN_CANCELLED", {"by": {"name": "ada", "channel": "web"}, "reason": None}
            if kind == "BRANCH_MERGED" and end != "completed":
                kind, fact = "BRANCH_PUBLISHED", {"commit": fact["commit"]}
            position += 1
            store.execute(
                "INSERT INTO workflow_events (position, run, workflow_run_id, sequence, type, payload, timestamp, form)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (position, number, name, sequence, kind, json.dumps(fact), begin + int((at - told[0][3]) * slow), form))
        run.update(number=number, id=name, short_id=short, status=end, playbook=playbook, cost_micros=cost,
                   original_request=request, branch=f"autonomous/{short}-history", created_at=begin,
                   updated_at=begin + int((told[-1][3] - told[0][3]) * slow))
        run["completed_at"] = run["updated_at"]
        if end == "failed":
            run["failure"] = "the checks fail after three rounds"
        marks = ", ".join("?" * len(names))
        store.execute(f"INSERT INTO workflow_runs ({', '.join(names)}) VALUES ({marks})", [run[key] for key in names])
    store.commit()
    print(f"{count} runs made up")


main(sys.argv[1], int(sys.argv[2]))
