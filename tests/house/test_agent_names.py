"""No part of Podium names an agent: what differs between them is said in their folders."""

import re

from podiumd.agents.kinds import KINDS
from tests.house.source import modules, name_of, text

OWN = (
    "daemon/podiumd/agents/",
    "daemon/podiumd/formats/",  # formats of files are registered apart
    "client/podium/agent_kinds.py",  # made from the kinds
)
MEANT_OTHERWISE = {
    "daemon/podiumd/daemon/demo.py": "it plays the scripted agent",
    "daemon/podiumd/config/settings.py": "an engine of speech",
    "daemon/podiumd/speech/engines/scripted.py": "an engine of speech",
    "daemon/podiumd/speech/service.py": "an engine of speech",
}


def test_no_part_names_an_agent() -> None:
    literal = re.compile(f"[\"']({'|'.join(KINDS)})[\"']")
    found = {
        name
        for path in modules("daemon/podiumd", "client/podium")
        if not (name := name_of(path)).startswith(OWN) and literal.search(text(path))
    }
    assert found == MEANT_OTHERWISE.keys()
