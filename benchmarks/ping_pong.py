"""The recipe that most measurements of turns walk."""

from __future__ import annotations


def ping_pong(steps: int) -> str:
    """Write two steps that hand over to each other until the limit of steps ends the run: what the
    agent is told to say is never the word that would end it. The recipe's head is not in it."""
    return f"""
initial = "ping"

[limits]
max_step_visits = 1000
max_total_steps = {steps}

[steps.ping]
prompt = "Ping."

[steps.ping.on]
again = {{ to = "pong" }}

[steps.pong]
prompt = "Pong."

[steps.pong.on]
again = {{ to = "ping" }}
enough = {{ exit = "enough", class = "completed" }}
"""
